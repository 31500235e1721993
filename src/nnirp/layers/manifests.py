"""The manifests of a dataset root: validated, tolerant of both versions of the card, no count assumed."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import pandas as pd
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, ValidationError

from nnirp.errors import InputError, NotPulledError
from nnirp.parameters import describe

# `..._im224_b4_fp32`: kind and size, batch, precision at the end of a sample name
_NAME = re.compile(
    r"(?:_(?P<kind>[a-z]+)(?P<size>\d+))?(?:_(?P<mode>prefill|decode))?_b(?P<batch>\d+)_(?P<precision>[a-z0-9]+)$"
)
M = TypeVar("M", bound=BaseModel)


class Manifest(BaseModel):
    """Base of all manifests: immutable; keys it does not know are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Splits(Manifest):
    """`splits.json`: source configurations of the canonical split."""

    train: list[int]
    val: list[int]
    test: list[int]


class Cluster(Manifest):
    """One cluster: its sub-family and its source configurations."""

    sub_family: str
    cases: list[int]


class Clusters(Manifest):
    """`clusters.json`: clusters by name, and the family of each sub-family."""

    clusters: dict[str, Cluster]
    subfamily_to_family: dict[str, str]

    @cached_property
    def by_configuration(self) -> dict[int, tuple[str, str, str]]:
        """{configuration: (cluster, sub-family, family)}."""
        return {
            case: (name, cluster.sub_family, self.subfamily_to_family.get(cluster.sub_family, "unknown"))
            for name, cluster in self.clusters.items()
            for case in cluster.cases
        }


class ModelTypes(
    RootModel[dict[str, Annotated[list[int], BeforeValidator(lambda v: [v] if isinstance(v, int) else v)]]]
):
    """`hf_model_type_case_ids.json`: configurations of each Hugging Face model type; one id or a list of ids."""


class ExportRow(Manifest):
    """How the export of one sample ended."""

    status: Literal["ok", "failed"]
    error: str | None = None
    nodes: int | None = None
    method: Literal["traced", "derived"] = "traced"
    note: str | None = None


class ExportManifest(Manifest):
    """`export.json`: with which software the graphs were exported, and how each sample ended."""

    schema_version: int = Field(1, alias="schema")
    environment: dict[str, Any] = {}
    samples: dict[str, ExportRow]


class Vocabulary(Manifest):
    """Which operator numbers a layer was encoded with."""

    version: int
    digest: str


class DatasetManifest(Manifest):
    """`dataset.json`: what the features layer holds and how it was encoded."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    schema_version: Literal[1] = Field(1, alias="schema")
    targets: Annotated[tuple[str, ...], Field(min_length=1)]
    target_statistic: Literal["mean", "median", "p10", "min"]
    vocabulary: Vocabulary
    form: Literal["canonical", "executed"]
    encoder_version: int | str
    fingerprint: dict[str, Any] | None = None
    dropped: dict[str, str] = {}


class CatalogSample(Manifest):
    """What the table of samples needs of a sample."""

    name: str
    batch: int
    size: int
    precision: str
    mode: str = "forward"
    size_kind: str | None = None


class CatalogRow(Manifest):
    """What the table of samples needs of a source configuration."""

    id: int
    name: str
    family: str
    sub_family: str
    parametric: bool = False
    library: str | None = None
    model_type: str | None = None
    samples: list[CatalogSample]


class CatalogManifest(Manifest):
    """`catalog.json`, as far as the layers use it."""

    configurations: list[CatalogRow]


class MemoryManifest(
    RootModel[dict[str, Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=4, max_length=4)]]]
):
    """`memory.json`: {sample: bytes of [weights, peak live activations, inputs + outputs, largest tensor]}."""


def read_manifest(path: Path, kind: type[M]) -> M:
    """Read and validate one manifest.

    Raises:
        NotPulledError: the file is absent.
        InputError: it is not JSON, or a value does not fit; the message names the key.
    """
    path = Path(path)
    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise NotPulledError(f"{path} is missing; run `dvc pull {path}`") from None
    except ValidationError as error:
        raise InputError(f"{path}: {describe(error)}; run `dvc checkout {path}`") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); run `dvc checkout {path}`") from None


def write_manifest(path: Path, content: BaseModel | Mapping[str, Any]) -> None:
    """Write a manifest: sorted keys, the same bytes for the same content."""
    raw = content.model_dump(mode="json", by_alias=True) if isinstance(content, BaseModel) else dict(content)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.partial")
    draft.write_text(json.dumps(raw, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(path)


def read_optional(root: Path, name: str, kind: type[M]) -> M | None:
    """A manifest of a root, or None where it is absent: a downloaded copy has the card's three only."""
    path = Path(root) / "manifests" / name
    return read_manifest(path, kind) if path.is_file() else None


def read_dataset_manifest(root: Path) -> DatasetManifest | None:
    """`manifests/dataset.json`, or None where it is absent."""
    return read_optional(root, "dataset.json", DatasetManifest)


def read_memory(root: Path, names: Sequence[str]) -> np.ndarray:
    """float64 [n, 4] bytes of the named samples; NaN where `memory.json` is absent or lacks a sample."""
    manifest = read_optional(root, "memory.json", MemoryManifest)
    rows = manifest.root if manifest else {}
    unknown = [float("nan")] * 4
    return np.array([rows.get(name, unknown) for name in names], dtype=np.float64).reshape(len(names), 4)


def sample_table(
    root: Path, names: Sequence[str], configurations: Sequence[int], log2_batch: np.ndarray
) -> pd.DataFrame:
    """The metadata of samples, one row each.

    What the catalog and the clusters do not say is read from the name (`..._im224_b4_fp32`) and, for the batch, from
    the graph's `u`; what nothing says is "unknown", a size 0, or a cluster of its own.

    Args:
        names: sample names [n].
        configurations: source configuration of each sample [n].
        log2_batch: last column of `u` [n].
    """
    catalog = read_optional(root, "catalog.json", CatalogManifest)
    clusters = read_optional(root, "clusters.json", Clusters)
    rows = {c.id: c for c in catalog.configurations} if catalog else {}
    entries = {s.name: s for c in rows.values() for s in c.samples}
    places = clusters.by_configuration if clusters else {}
    counts = pd.Series(list(configurations)).value_counts().to_dict()
    table = [
        _row(name, configuration, rows.get(configuration), entries.get(name), places, float(batch), counts)
        for name, configuration, batch in zip(names, configurations, log2_batch, strict=True)
    ]
    return pd.DataFrame(table, columns=list(_COLUMN_TYPES)).astype(_COLUMN_TYPES)


_COLUMN_TYPES = {
    "sample": "str",
    "configuration": "int64",
    "configuration_name": "str",
    "cluster": "str",
    "sub_family": "str",
    "family": "str",
    "batch": "int64",
    "size": "int64",
    "precision": "str",
    "mode": "str",
    "parametric": "bool",
}


def _row(
    name: str,
    configuration: int,
    row: CatalogRow | None,
    entry: CatalogSample | None,
    places: Mapping[int, tuple[str, str, str]],
    log2_batch: float,
    counts: Mapping[int, int],
) -> tuple:
    parsed = _NAME.search(name)
    found = parsed.groupdict() if parsed else {}
    cluster, sub_family, family = places.get(configuration, (None, None, None))
    base = name[: parsed.start()] if parsed else name
    return (
        name,
        configuration,
        row.name if row else base if counts[configuration] < 2 else f"configuration-{configuration}",
        cluster or f"configuration-{configuration}",
        (row.sub_family if row else sub_family) or "unknown",
        (row.family if row else family) or "unknown",
        entry.batch if entry else int(found.get("batch") or max(round(2.0 ** min(log2_batch, 31.0)), 1)),
        entry.size if entry else min(int(found.get("size") or 0), 2**62),
        entry.precision if entry else found.get("precision") or "unknown",
        entry.mode if entry else found.get("mode") or "forward",
        row.parametric if row else False,
    )
