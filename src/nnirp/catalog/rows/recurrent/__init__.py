"""Source configurations 601–699: recurrent networks, a file of rows for each sub-family. Ids go on from file to file."""

from nnirp.catalog.rows.recurrent import convolutional, gated

ROWS = (*gated.ROWS, *convolutional.ROWS)
