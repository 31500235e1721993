"""Source configurations 101–199: causal language models, a file of rows for each sub-family."""

from nnirp.catalog.rows.attention_decoder import absolute, alibi, experts, rotary, state_space

ROWS = (*absolute.ROWS, *rotary.ROWS, *alibi.ROWS, *experts.ROWS, *state_space.ROWS)
