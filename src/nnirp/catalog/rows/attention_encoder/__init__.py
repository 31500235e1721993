"""Source configurations 201–299, and 2000–2099 beyond them: encoders, a file of rows for each kind of input."""

from nnirp.catalog.rows.attention_encoder import audio, maps, pairs, text, time_series, vision

ROWS = (*text.ROWS, *vision.ROWS, *maps.ROWS, *audio.ROWS, *pairs.ROWS, *time_series.ROWS)
