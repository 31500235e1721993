"""Encoders of text, images, audio, documents and time series: a file of builders for each kind of input."""

from nnirp.catalog.builders.attention_encoder import audio, document, image_text, text, time_series, vision

__all__ = ["audio", "document", "image_text", "text", "time_series", "vision"]
