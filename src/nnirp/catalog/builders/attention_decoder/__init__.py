"""Decoders: the prompt in one pass (prefill), or one token more after a known past (decode)."""

from nnirp.catalog.builders.attention_decoder import language_model, own_state

__all__ = ["language_model", "own_state"]
