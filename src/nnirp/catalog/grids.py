"""Grids: from a few compact lists to the samples of a source configuration, and the names samples carry."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nnirp.catalog.configurations import Sample

#: How an argument's name is shortened inside a sample's name; others are written out.
SHORT = {
    "hidden_size": "h",
    "hidden_dim": "h",
    "embed_dim": "h",
    "d_model": "h",
    "dim": "h",
    "num_hidden_layers": "l",
    "n_layer": "l",
    "n_layers": "l",
    "num_layers": "l",
    "encoder_layers": "l",
    "depth": "l",
    "num_attention_heads": "a",
    "num_key_value_heads": "kv",
    "num_heads": "a",
    "n_head": "a",
    "n_heads": "a",
    "intermediate_size": "ff",
    "d_ff": "ff",
    "encoder_attention_heads": "a",
    "decoder_attention_heads": "da",
    "encoder_ffn_dim": "ff",
    "decoder_ffn_dim": "dff",
    "max_source_positions": "src",
    "_decoder_tokens": "tgt",
    "moe_intermediate_size": "eff",
    "shared_expert_intermediate_size": "sff",
    "rotary_dim": "rot",
    "q_lora_rank": "ql",
    "kv_lora_rank": "kvl",
    "state_size": "n",
    "mamba_d_ssm": "ssm",
    "mamba_n_heads": "sa",
    "linear_num_key_heads": "lk",
    "linear_num_value_heads": "lv",
    "width": "w",
    "stages": "st",
    "bidirectional": "bi",
}


@dataclass(frozen=True)
class Grid:
    """Every size × batch × swept arguments × mode at one precision; `points` are (size, batch) pairs."""

    points: tuple[tuple[int, int], ...]
    sweep: tuple[Mapping[str, Any], ...] = ({},)
    mode: str = "forward"
    precision: str = "fp32"


@dataclass(frozen=True)
class Row:
    """A source configuration as it is declared: what it is, its builder with arguments, and its grids.

    `starter` grids are measured first; the full selection has them and the `more` grids.
    """

    id: int
    name: str
    sub_family: str
    builder: str
    arguments: Mapping[str, Any]
    library: str
    size_kind: str
    starter: tuple[Grid, ...] = ()
    more: tuple[Grid, ...] = ()
    parametric: bool = field(default=False)


def points(sizes: tuple[int, ...], batches: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return every (size, batch) pair."""
    return tuple((size, batch) for size in sizes for batch in batches)


def zip_sweep(**columns: tuple[Any, ...]) -> tuple[dict[str, Any], ...]:
    """Return one dict per position of the equally long columns: `zip_sweep(depth=(2, 4), width=(8, 16))` has two."""
    return tuple(dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))


def sample_name(row_name: str, arguments: Mapping[str, Any], size_kind: str, size: int, batch: int, end: str) -> str:
    """Return `<configuration>[_<swept arguments>]_<kind><size>_b<batch>_<end>`; a hub id's `/` becomes `--`."""
    swept = [f"{SHORT.get(key, key)}{_short(value)}" for key, value in arguments.items()]
    return "_".join([row_name.replace("/", "--"), *swept, f"{size_kind}{size}", f"b{batch}", end])


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "x".join(_short(v) for v in value)
    return str(int(value)) if isinstance(value, bool) else str(value)


def samples_of(row: Row, grids: tuple[Grid, ...]) -> tuple[Sample, ...]:
    """Return the samples of the row's grids, sorted by name."""
    samples = [
        Sample(
            name=sample_name(
                row.name,
                arguments,
                row.size_kind,
                size,
                batch,
                f"decode_{grid.precision}" if grid.mode == "decode" else grid.precision,
            ),
            configuration_id=row.id,
            batch=batch,
            size=size,
            size_kind=row.size_kind,
            precision=grid.precision,
            mode=grid.mode,
            arguments=dict(arguments),
        )
        for grid in grids
        for arguments in grid.sweep
        for size, batch in grid.points
    ]
    return tuple(sorted(samples, key=lambda sample: sample.name))
