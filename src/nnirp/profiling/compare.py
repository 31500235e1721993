"""Two campaigns compared sample by sample: is it the machine, the software or the noise that changed?"""

import json
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nnirp.errors import NotPulledError
from nnirp.profiling.statistics import quantile

COMPARED = {"runtime_ms": "Runtime (ms)", "peak_ram_mb": "Peak RAM (MB)", "peak_vram_mb": "Peak VRAM (MB)"}


@dataclass(frozen=True)
class Row:
    """One metric of one sample in both campaigns; medians; `ratio` is second ÷ first."""

    sample: str
    family: str
    metric: str
    first: float
    second: float
    ratio: float


@dataclass(frozen=True)
class Comparison:
    """Rows, and what they come to."""

    rows: tuple[Row, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    fingerprint_differences: dict[str, tuple[Any, Any]]

    def summary(self) -> dict[str, dict[str, float]]:
        """For each metric: number of samples, median ratio, and median and 90th percentile of |ratio − 1|."""
        found = {}
        for metric in COMPARED:
            ratios = [row.ratio for row in self.rows if row.metric == metric]
            if ratios:
                away = [abs(ratio - 1) for ratio in ratios]
                found[metric] = {
                    "samples": len(ratios),
                    "median_ratio": statistics.median(ratios),
                    "median_difference": statistics.median(away),
                    "p90_difference": quantile(away, 0.9),
                }
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {**asdict(self), "summary": self.summary()}


def read_campaign(folder: Path) -> dict[str, dict]:
    """Records of a profiling layer by sample.

    Raises:
        NotPulledError: the folder holds no archive.
    """
    from nnirp.layers.archives import iter_archive

    archives = sorted(Path(folder).glob("*.tar.gz"))
    if not archives:
        raise NotPulledError(
            f"{folder} holds no profiling archive; `dvc pull {folder}`, or measure with `nnirp profile`"
        )
    return {name.removesuffix(".json"): json.loads(data) for path in archives for name, data in iter_archive(path)}


def compare_campaigns(first: Path, second: Path) -> Comparison:
    """Compare two folders of profiling archives; samples that failed in either are left out.

    Raises:
        NotPulledError: a folder holds no archive.
    """
    one, other = read_campaign(first), read_campaign(second)
    rows = []
    for sample in sorted(one.keys() & other.keys()):
        for metric, name in COMPARED.items():
            a, b = one[sample].get(name), other[sample].get(name)
            if a and b and a["median"] > 0:
                family = one[sample]["_meta"]["family"]
                rows.append(Row(sample, family, metric, a["median"], b["median"], b["median"] / a["median"]))
    return Comparison(
        tuple(rows),
        tuple(sorted(one.keys() - other.keys())),
        tuple(sorted(other.keys() - one.keys())),
        _differences(_fingerprint(one), _fingerprint(other)),
    )


def _fingerprint(records: Mapping[str, dict]) -> dict[str, Any]:
    return next((r["_meta"]["fingerprint"] for r in records.values() if r["_meta"].get("fingerprint")), {})


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    names = sorted((one.keys() | other.keys()) - {"digest"})
    return {name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)}
