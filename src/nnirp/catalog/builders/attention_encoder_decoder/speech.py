"""Speech to text: features or waveforms and known ids of the transcript → logits of the transcript's tokens."""

import torch

from nnirp.catalog.builders.attention_encoder_decoder.step import cross_decoding_step
from nnirp.catalog.builders.attention_encoder_decoder.text import answer_ids
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs, token_ids
from nnirp.catalog.registry import Built, Request, builder


@builder("speech_to_text")
def speech_to_text(request: Request) -> Built:
    """Log-mel features [batch, mel bins, frames] and decoder ids [batch, size] → logits; a window always has all frames.

    Decode: one token more after `size` known ones, the window encoded before.
    """
    model, configuration = create("AutoModelForSpeechSeq2Seq", request.arguments)
    if request.mode == "decode":
        return cross_decoding_step(model, request.batch, configuration.max_source_positions, request.size)
    frames = 2 * configuration.max_source_positions  # the second convolution halves the frames
    inputs = {
        "input_features": torch.randn(request.batch, configuration.num_mel_bins, frames),
        "decoder_input_ids": token_ids(request.batch, request.size, configuration.vocab_size),
    }
    return TensorOutputs(model, ("logits",), use_cache=False), inputs


@builder("filter_banks_to_text")
def filter_banks_to_text(request: Request) -> Built:
    """Filter banks [batch, size, bands] of any length → logits of the known tokens."""
    model, configuration = create("AutoModelForSpeechSeq2Seq", request.arguments)
    inputs = {
        "input_features": torch.randn(request.batch, request.size, configuration.input_feat_per_channel),
        "decoder_input_ids": answer_ids(request, configuration.vocab_size),
    }
    return TensorOutputs(model, ("logits",), use_cache=False), inputs


@builder("waveform_to_text")
def waveform_to_text(request: Request) -> Built:
    """A waveform at 16 kHz [batch, size] → logits of the known tokens."""
    # Masking spans is for training; its embedding would be allocated outside of the meta device.
    model, configuration = create("AutoModelForSpeechSeq2Seq", {"mask_time_prob": 0.0} | request.arguments)
    inputs = {
        "input_values": torch.randn(request.batch, request.size),
        "decoder_input_ids": answer_ids(request, configuration.vocab_size),
    }
    return TensorOutputs(model, ("logits",), use_cache=False), inputs
