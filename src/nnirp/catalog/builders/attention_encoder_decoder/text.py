"""Text to text: ids [batch, size] and `_decoder_tokens` known ids of the answer → logits of the answer's tokens."""

import torch
from torch import Tensor

from nnirp.catalog.builders.attention_encoder_decoder.step import cross_decoding_step
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs, token_ids
from nnirp.catalog.registry import Built, Request, builder

DECODER_TOKENS = 16


def answer_ids(request: Request, vocabulary: int) -> Tensor:
    """Return known ids of the answer [batch, `_decoder_tokens`]."""
    return token_ids(request.batch, request.arguments.get("_decoder_tokens", DECODER_TOKENS), vocabulary)


@builder("text_to_text")
def text_to_text(request: Request) -> Built:
    """Ids and mask [batch, size], decoder ids [batch, decoder tokens] → logits. Decode: one token more, encoder done.

    `_mask` is False where a mask cannot be traced, `_decoder_mask` True where the library would look for padding without.
    """
    model, configuration = create("AutoModelForSeq2SeqLM", request.arguments)
    vocabulary = configuration.vocab_size
    mask = torch.ones(request.batch, request.size, dtype=torch.int64)
    if request.mode == "decode":
        known = request.arguments.get("_decoder_tokens", DECODER_TOKENS)
        return cross_decoding_step(model, request.batch, request.size, known, {"attention_mask": mask})
    inputs = {
        "input_ids": token_ids(request.batch, request.size, vocabulary),
        "attention_mask": mask,
        "decoder_input_ids": answer_ids(request, vocabulary),
    }
    if not request.arguments.get("_mask", True):
        del inputs["attention_mask"]
    if request.arguments.get("_decoder_mask"):
        inputs["decoder_attention_mask"] = torch.ones_like(inputs["decoder_input_ids"])
    return TensorOutputs(model, ("logits",), use_cache=False), inputs
