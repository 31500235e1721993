"""Recurrent networks: stacks of gated layers over features, tokens or convolutional features."""

from nnirp.catalog.builders.recurrent import forecasting, gated, speech, synthesis, text_line

__all__ = ["forecasting", "gated", "speech", "synthesis", "text_line"]
