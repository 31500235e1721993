"""One decoding step of an encoder–decoder: the encoder is done, keys and values of both attentions are inputs."""

import torch
from torch import Tensor, nn

from nnirp.catalog.builders.outputs import token_ids
from nnirp.catalog.registry import Built


class CrossDecoding(nn.Module):
    """A decoder over one new token of an answer.

    Inputs beside `decoder_input_ids` [batch, 1] and the encoder's states [batch, source, width]: `past_key_<i>` and
    `past_value_<i>` [batch, heads, past, dim], `cross_key_<i>` and `cross_value_<i>` [batch, heads, source, dim] of each
    layer. Returns the logits of the new token and the grown keys and values.
    """

    def __init__(self, model: nn.Module, layers: int):
        super().__init__()
        self.model = model
        self.layers = layers

    def forward(self, decoder_input_ids: Tensor, encoder_states: Tensor, **inputs: Tensor) -> tuple[Tensor, ...]:
        from transformers import DynamicCache, EncoderDecoderCache
        from transformers.modeling_outputs import BaseModelOutput

        own, cross = (
            DynamicCache([(inputs.pop(f"{kind}_key_{i}"), inputs.pop(f"{kind}_value_{i}")) for i in range(self.layers)])
            for kind in ("past", "cross")
        )
        result = self.model(
            decoder_input_ids=decoder_input_ids,
            encoder_outputs=BaseModelOutput(last_hidden_state=encoder_states),
            past_key_values=EncoderDecoderCache(own, cross),
            use_cache=True,
            return_dict=True,
            **inputs,
        )
        return (result.logits, *(t for layer in own.layers for t in (layer.keys, layer.values)))


def cross_decoding_step(
    model: nn.Module, batch: int, source: int, past: int, extra: dict[str, Tensor] | None = None
) -> Built:
    """Return the step after `past` tokens of the answer, over `source` positions of the encoder; `extra` are more inputs."""
    whole = model.config
    decoder = getattr(whole, "decoder", None) or whole  # a pair of two configurations, or one for both
    heads = getattr(decoder, "decoder_attention_heads", None) or decoder.num_attention_heads
    dimension = getattr(decoder, "d_kv", None) or decoder.hidden_size // heads
    layers = next(
        n for n in (getattr(decoder, f, None) for f in ("decoder_layers", "num_decoder_layers", "n_layer")) if n
    )
    states = torch.randn(batch, source, getattr(whole, "encoder", decoder).hidden_size)
    inputs = {"decoder_input_ids": token_ids(batch, 1, decoder.vocab_size), "encoder_states": states, **(extra or {})}
    for kind, length in (("past", past), ("cross", source)):
        for layer in range(layers):
            for what in ("key", "value"):
                inputs[f"{kind}_{what}_{layer}"] = torch.randn(batch, heads, length, dimension)
    return CrossDecoding(model, layers), inputs
