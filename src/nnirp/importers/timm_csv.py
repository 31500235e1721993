"""A results table of pytorch-image-models (`benchmark-infer-*.csv`) as a dataset root."""

import hashlib
import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnirp.errors import InputError
from nnirp.importers.assembling import Measured, assemble, claim
from nnirp.importers.csv_file import read_csv
from nnirp.importers.exporting import LIMITS, Limits, Outcome, make_graphs
from nnirp.importers.sources import Source

log = logging.getLogger(__name__)
NAME = "timm-csv"
COLUMNS = ("model", "infer_img_size", "infer_batch_size", "infer_step_time")
# As in benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv and benchmark-infer-fp32-nchw-pt240-cpu-i9_10940x-dynamo.csv
_FILE_NAME = re.compile(
    r"benchmark-infer-(?P<precision>[a-z0-9]+)-(?P<layout>nchw|nhwc)-pt(?P<torch>\d{3})(?:-cu(?P<cuda>\d{3}))?(?:-cpu)?"
    r"-(?P<device>[A-Za-z0-9_]+)(?P<compiled>-dynamo)?\.csv"
)


@dataclass(frozen=True)
class Row:
    """One measurement: the step takes `step_ms` milliseconds for the whole batch. `gmacs` and `parameters` may be NaN."""

    model: str
    size: int
    batch: int
    step_ms: float
    gmacs: float
    parameters: float

    @property
    def label(self) -> str:
        """How reports and samples name the row: a model is measured at several image sizes."""
        return f"{self.model}_im{self.size}_b{self.batch}"


def import_timm_csv(
    table: Path,
    output: Path,
    *,
    models: int | None = None,
    listed: Sequence[str] = (),
    device: str | None = None,
    precision: str | None = None,
    min_families: int = 1,
    jobs: int = 1,
    limits: Limits = LIMITS,
    on_progress: Callable[..., None] = lambda *_: None,
) -> dict[str, Any]:
    """Build the models of a table at its image sizes and batches, export them, and label them with the step times.

    A kill loses at most one graph a process; the same call goes on. A row that cannot be mapped is left out with a reason.

    Args:
        table: with the columns model, infer_img_size, infer_batch_size and infer_step_time (ms for the whole batch).
        output: the dataset root to write.
        models: this many, spread evenly over timm's modules; all where None.
        listed: these models instead, by the names in the table.
        device, precision: what was measured on and how; read from the file's name where None.
        min_families: refuse to begin when the choice spans fewer of timm's modules.
        jobs: processes.
        limits: of one export.
        on_progress: called with what is done, how much there is, and a note.

    Returns:
        The content of `manifests/import.json`: counts, what was left out and why, modules, splits, cross-checks.

    Raises:
        InputError: the file is no such table, nothing says the device, or nothing could be imported.
    """
    from nnirp.importers.timm_models import find

    table, output = Path(table), Path(output)
    rows, left_out = read_table(table)
    where = provenance(table.name, device, precision)
    found = {}
    for row in rows:
        try:
            found[row.model] = find(row.model)
        except InputError as error:
            left_out[row.label] = str(error)
    numbers = {name: i for i, name in enumerate(sorted({row.model.split(".", 1)[0] for row in rows}), start=1)}
    chosen = choose(
        [row for row in rows if row.model in found], {n: m.module for n, m in found.items()}, models, listed
    )
    modules = {found[row.model].module for row in chosen}
    if len(modules) < min_families:
        raise InputError(
            f"the choice spans {len(modules)} of timm's modules, --min-families asks for {min_families}; raise --models"
        )
    claim(output, NAME)
    order = sorted(chosen, key=lambda row: (row.parameters if row.parameters == row.parameters else 0, row.model))
    sources = {row: Source("timm", row.model, row.batch, row.size, _none(row.parameters)) for row in order}
    outcomes = make_graphs(
        list(sources.values()), output / ".work" / "graphs", jobs=jobs, limits=limits, on_progress=on_progress
    )
    samples, kept = [], []
    for row in chosen:
        outcome = outcomes[sources[row]]
        if outcome.path is None:
            left_out[row.label] = f"export: {outcome.error}"
            continue
        kept.append(row)
        samples.append(_measured(row, numbers[found[row.model].architecture], outcome, where, table.name))
    taxonomy = {numbers[m.architecture]: (m.family, m.module) for m in found.values()}
    report = {
        "importer": NAME,
        "source": {"name": table.name, "sha256": hashlib.sha256(table.read_bytes()).hexdigest()},
        "fingerprint": where["fingerprint"],
        "rows": len(rows),
        "chosen": len(chosen),
        "imported": len(kept),
        "left_out": dict(sorted(left_out.items())),
        "modules": dict(sorted(Counter(found[row.model].module for row in kept).items())),
        "families": dict(sorted(Counter(found[row.model].family for row in kept).items())),
        "arithmetic": cross_check(kept, [outcomes[sources[row]].flops for row in kept]),
    }
    if not samples:
        name, reason = next(iter(report["left_out"].items()), ("the table", "it has no row"))
        raise InputError(f"{table}: nothing could be imported; {name}: {reason}")
    return assemble(
        output,
        samples,
        taxonomy,
        targets=("runtime_ms",),
        statistic="mean",
        report=report,
        jobs=jobs,
        on_progress=on_progress,
    )


def read_table(path: Path) -> tuple[list[Row], dict[str, str]]:
    """The rows that carry a label, and {line: why not} of the others.

    Raises:
        InputError: the file is absent, is no CSV, lacks a column, or names one measurement twice.
    """
    _, lines = read_csv(path, "a benchmark-infer-*.csv of pytorch-image-models", COLUMNS)
    rows, refused = {}, {}
    for number, line in lines:
        name = line["model"]
        try:
            row = Row(
                name,
                int(line["infer_img_size"]),
                int(line["infer_batch_size"]),
                float(line["infer_step_time"]),
                _number(line.get("infer_gmacs")),
                _number(line.get("param_count")),
            )
        except (TypeError, ValueError):
            refused[f"line {number}: {name}"] = "no image size, batch or step time"
            continue
        if not (row.size > 0 and row.batch > 0 and 0 < row.step_ms < math.inf):
            refused[f"line {number}: {name}"] = f"{row.label} takes {row.step_ms} ms: not all of them are positive"
        elif row.label in rows:
            raise InputError(f"{path}, line {number}: {row.label} has two rows; which one was measured?")
        else:
            rows[row.label] = row
    return list(rows.values()), refused


def choose(rows: Sequence[Row], modules: dict[str, str], count: int | None, listed: Sequence[str] = ()) -> list[Row]:
    """All rows, the listed ones, or `count` of them: one of each module in turn, by a hash, so that a larger count keeps them.

    Raises:
        InputError: a listed model is not in the table.
    """
    from nnirp.splits.hashing import fraction

    if listed:
        absent = sorted(set(listed) - {row.model for row in rows})
        if absent:
            raise InputError(f"{len(absent)} listed models are not usable rows of the table, such as {absent[0]!r}")
        return [row for row in rows if row.model in listed]
    ranks: dict[str, int] = Counter()
    ranked = []
    for row in sorted(rows, key=lambda row: (fraction(0, row.label), row.label)):
        module = modules[row.model]
        ranked.append((ranks[module], module, row.label))
        ranks[module] += 1
    chosen = {label for _, _, label in sorted(ranked)[:count]}
    return [row for row in rows if row.label in chosen]


def provenance(file_name: str, device: str | None = None, precision: str | None = None) -> dict[str, Any]:
    """Device fingerprint, precision and runtime of a table, from its name and what the user says.

    Raises:
        InputError: neither says the device or the precision.
    """
    parsed = _FILE_NAME.fullmatch(file_name)
    found = parsed.groupdict() if parsed else {}
    device, precision = device or found.get("device"), precision or found.get("precision")
    if not device or not precision:
        raise InputError(
            f"{file_name} does not say {'the device' if not device else 'the precision'}, as "
            "benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv does; give --device and --precision"
        )
    gpu = bool(found.get("cuda"))
    libraries = {"torch": ".".join(found["torch"])} if found else {}
    if gpu:
        libraries["cuda"] = f"{found['cuda'][:2]}.{found['cuda'][2:]}"
    fingerprint = {
        "device": "cuda" if gpu else "cpu" if found else "unknown",
        "gpu" if gpu else "processor": {"name": device},
        "libraries": libraries,
        "precision": precision,
        "memory_layout": found.get("layout"),
    }
    runtime = {"name": "inductor" if found.get("compiled") else "eager"}
    return {"fingerprint": fingerprint, "precision": precision, "runtime": runtime}


def cross_check(rows: Sequence[Row], flops: Sequence[float]) -> dict[str, Any]:
    """Multiply-accumulates of the graphs (FLOPs / 2, one image) against the table's, whose counter misses some attention."""
    ratios = {
        row.label: round(value / 2e9 / row.batch / row.gmacs, 3)
        for row, value in zip(rows, flops, strict=True)
        if row.gmacs > 0
    }
    far = sorted(ratios, key=lambda name: (-abs(math.log(max(ratios[name], 1e-9))), name))[:5]
    return {
        "compared": len(ratios),
        "within_5_percent": sum(0.95 <= ratio <= 1.05 for ratio in ratios.values()),
        "median_ratio": sorted(ratios.values())[len(ratios) // 2] if ratios else None,
        "furthest": {name: ratios[name] for name in far},
    }


def _measured(row: Row, configuration: int, outcome: Outcome, where: dict[str, Any], source: str) -> Measured:
    meta = {
        **where,
        "batch": row.batch,
        "input_shapes": {"x": [row.batch, 3, row.size, row.size]},
        "imported_from": source,
        "reported": "the mean of timed steps, published as one number",
    }
    sample = f"{row.label}_{where['precision']}"
    return Measured(sample, configuration, outcome.path, {"runtime_ms": [row.step_ms]}, meta)


def _number(text: str | None) -> float:
    return float(text) if text else math.nan


def _none(value: float) -> float | None:
    return None if value != value else value
