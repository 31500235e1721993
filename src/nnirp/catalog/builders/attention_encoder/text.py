"""Text encoders: ids and mask [batch, size] → hidden states [batch, size, width]."""

import torch
from torch import Tensor, nn

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs, token_ids
from nnirp.catalog.registry import Built, Request, builder


def masked_ids(request: Request, vocabulary: int) -> dict[str, Tensor]:
    """Return token ids and a mask without padding, both [batch, size]."""
    return {
        "input_ids": token_ids(request.batch, request.size, vocabulary),
        "attention_mask": torch.ones(request.batch, request.size, dtype=torch.int64),
    }


@builder("text_encoder")
def text_encoder(request: Request) -> Built:
    """Any encoder of token ids; `_mask` is False for those that take no mask, "float" for those that compute with it."""
    model, configuration = create("AutoModel", request.arguments)
    inputs = masked_ids(request, configuration.vocab_size)
    mask = request.arguments.get("_mask", "integer")
    if mask == "float":
        inputs["attention_mask"] = inputs["attention_mask"].float()
    elif not mask:
        del inputs["attention_mask"]
    return TensorOutputs(model, ("last_hidden_state",)), inputs


@builder("character_encoder")
def character_encoder(request: Request) -> Built:
    """Encoders that hash Unicode code points and have no vocabulary."""
    model, _ = create("AutoModel", request.arguments)
    return TensorOutputs(model, ("last_hidden_state",)), masked_ids(request, 1000)


@builder("masked_language_model")
def masked_language_model(request: Request) -> Built:
    """Encoders that are used with their language head: ids and mask → logits [batch, size, vocabulary]."""
    model, configuration = create("AutoModelForMaskedLM", request.arguments)
    return TensorOutputs(model, ("logits",)), masked_ids(request, configuration.vocab_size)


class SlidingWindowLongformer(nn.Module):
    """A Longformer without global tokens: the library asks the mask's values for them, which no trace can answer."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.embeddings, self.layers = model.embeddings, model.encoder.layer

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.embeddings(input_ids=input_ids)
        mask = (1.0 - attention_mask.to(hidden.dtype)) * torch.finfo(hidden.dtype).min
        for layer in self.layers:
            hidden = layer(
                hidden,
                attention_mask=mask,
                is_index_masked=mask < 0,
                is_index_global_attn=mask > 0,
                is_global_attn=False,
            )[0]
        return hidden


@builder("sliding_window_encoder")
def sliding_window_encoder(request: Request) -> Built:
    """A Longformer; `size` is a multiple of its attention window.

    Its windows overlap in memory; `onnx_export` takes them by `unfold` instead of `as_strided`, which a graph can only express
    by a table of indices.
    """
    model, configuration = create("AutoModel", request.arguments)
    return SlidingWindowLongformer(model), masked_ids(request, configuration.vocab_size)
