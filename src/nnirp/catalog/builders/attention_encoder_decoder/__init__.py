"""Encoder–decoders: the encoder once and the decoder over known tokens, or one decoding step after both."""

from nnirp.catalog.builders.attention_encoder_decoder import speech, text, time_series, vision

__all__ = ["speech", "text", "time_series", "vision"]
