"""Source configurations 301–399: encoder–decoders, a file of rows for each kind of input. Ids go on from file to file."""

from nnirp.catalog.rows.attention_encoder_decoder import speech, text, time_series, vision

ROWS = (*text.ROWS, *speech.ROWS, *vision.ROWS, *time_series.ROWS)
