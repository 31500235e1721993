"""Encoder–decoders: the encoder over the input and the decoder over `_decoder_tokens` known tokens."""

import torch

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs, token_ids
from nnirp.catalog.registry import Built, Request, builder


@builder("text_to_text")
def text_to_text(request: Request) -> Built:
    """Ids and mask [batch, size], decoder ids [batch, decoder tokens] → logits of the decoder's tokens."""
    model, configuration = create("AutoModelForSeq2SeqLM", request.arguments)
    vocabulary = configuration.vocab_size
    inputs = {
        "input_ids": token_ids(request.batch, request.size, vocabulary),
        "attention_mask": torch.ones(request.batch, request.size, dtype=torch.int64),
        "decoder_input_ids": token_ids(request.batch, request.arguments.get("_decoder_tokens", 16), vocabulary),
    }
    return TensorOutputs(model, ("logits",), use_cache=False), inputs


@builder("speech_to_text")
def speech_to_text(request: Request) -> Built:
    """Log-mel features [batch, mel bins, frames] and decoder ids [batch, size] → logits; a window always has all frames."""
    model, configuration = create("AutoModelForSpeechSeq2Seq", request.arguments)
    frames = 2 * configuration.max_source_positions  # the second convolution halves the frames
    inputs = {
        "input_features": torch.randn(request.batch, configuration.num_mel_bins, frames),
        "decoder_input_ids": token_ids(request.batch, request.size, configuration.vocab_size),
    }
    return TensorOutputs(model, ("logits",), use_cache=False), inputs
