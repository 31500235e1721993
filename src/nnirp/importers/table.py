"""Anybody's table of measurements, a CSV file with a mapping of its columns, as a dataset root."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnirp.errors import InputError
from nnirp.importers.assembling import Measured, assemble, claim
from nnirp.importers.csv_file import read_csv
from nnirp.importers.exporting import LIMITS, Limits, make_graphs
from nnirp.importers.sources import Source, catalog_configuration

NAME = "csv"
# What a column may be mapped to: (target of the dataset, factor from the column's unit to the target's); MB is 2**20 bytes
_MEMORY = {"bytes": 2.0**-20, "kb": 2.0**-10, "mb": 1.0, "gb": 2.0**10}
QUANTITIES: dict[str, tuple[str, float]] = {
    **{f"runtime_{unit}": ("runtime_ms", factor) for unit, factor in {"us": 1e-3, "ms": 1.0, "s": 1e3}.items()},
    **{f"peak_{kind}_{unit}": (f"peak_{kind}_mb", f) for kind in ("ram", "vram") for unit, f in _MEMORY.items()},
    **{f"energy_{unit}": ("energy_j", factor) for unit, factor in {"mj": 1e-3, "j": 1.0}.items()},
}
FIELDS = ("model", "batch", "size", "precision", "device", "configuration", "family", "sub_family")
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Row:
    """One usable line: its graph's source, what it is called, where it belongs, and its quantities in the targets' units."""

    line: int
    source: Source
    base: str
    precision: str
    configuration: str
    taxonomy: tuple[str, str]
    values: Mapping[str, float]


def import_csv(
    table: Path,
    output: Path,
    *,
    columns: Mapping[str, str],
    device: str | None = None,
    batch: int | None = None,
    statistic: str = "median",
    jobs: int = 1,
    limits: Limits = LIMITS,
    on_progress: Callable[..., None] = lambda *_: None,
) -> dict[str, Any]:
    """Read or build the model of each line and label it with the line's measurements.

    Lines of one model, batch, size and precision are repetitions of one measurement. A line that cannot be mapped is left out
    with a reason; a kill loses at most one graph a process, and the same call goes on.

    Args:
        table: a CSV file.
        output: the dataset root to write.
        columns: {field or quantity: column}, see `FIELDS` and `QUANTITIES`; a column that has such a name maps itself.
        device: what was measured on; chooses among the devices of a table that has several.
        batch: of every line, where no column says it.
        statistic: which statistic of the repetitions is the label: mean, median or min.
        jobs: processes.
        limits: of one graph.
        on_progress: called with what is done, how much there is, and a note.

    Returns:
        The content of `manifests/import.json`.

    Raises:
        InputError: a mapping names what does not exist, the device is not clear, or nothing could be imported.
    """
    table, output = Path(table), Path(output)
    found, lines = read_csv(table, "a table with one measurement a line")
    mapping = resolve_columns(columns, found, table)
    device, lines = of_device(lines, mapping, device, table)
    rows, left_out = read_rows(lines, mapping, table.parent, batch)
    claim(output, NAME)
    outcomes = make_graphs(
        [row.source for row in rows], output / ".work" / "graphs", jobs=jobs, limits=limits, on_progress=on_progress
    )
    numbers = {name: i for i, name in enumerate(sorted({row.configuration for row in rows}), start=1)}
    repeats: dict[str, list[Row]] = {}
    for row in rows:
        outcome = outcomes[row.source]
        if outcome.path is None:
            left_out[f"line {row.line}"] = f"{row.source.name}: {outcome.error}"
            continue
        members = repeats.setdefault(f"{row.base}_b{outcome.batch}_{row.precision}", [])
        if members and members[0].source.name != row.source.name:
            left_out[f"line {row.line}"] = f"{row.source.name}: {members[0].source.name} has the same name, {row.base}"
            continue
        members.append(row)
    if not repeats:
        line, reason = next(iter(left_out.items()), ("the table", "it has no line"))
        raise InputError(f"{table}: nothing could be imported; {line}: {reason}")
    targets = list(dict.fromkeys(QUANTITIES[name][0] for name in mapping if name in QUANTITIES))
    fingerprint = {"device": UNKNOWN, "processor": {"name": device}}
    samples = [
        _measured(name, members, outcomes, numbers, fingerprint, table.name) for name, members in repeats.items()
    ]
    report = {
        "importer": NAME,
        "source": {"name": table.name, "sha256": hashlib.sha256(table.read_bytes()).hexdigest()},
        "columns": dict(mapping),
        "fingerprint": fingerprint,
        "rows": len(lines),
        "imported": sum(len(members) for members in repeats.values()),
        "samples": len(samples),
        "left_out": dict(sorted(left_out.items())),
        "families": dict(
            sorted(Counter(row.taxonomy[0] for members in repeats.values() for row in members[:1]).items())
        ),
    }
    return assemble(
        output,
        samples,
        _taxonomy(rows, numbers, table),
        targets=targets,
        statistic=statistic,
        report=report,
        jobs=jobs,
        on_progress=on_progress,
    )


def resolve_columns(asked: Mapping[str, str], found: Sequence[str], table: Path) -> dict[str, str]:
    """{field or quantity: column}: what was asked for, and columns that have such a name.

    Raises:
        InputError: an unknown field or column, no model, no quantity, or two units of one quantity.
    """
    known = (*FIELDS, *QUANTITIES)
    for name, column in asked.items():
        if name not in known:
            raise InputError(f"--column {name}={column}: {name!r} is none of {', '.join(known)}")
        if column not in found:
            raise InputError(f"--column {name}={column}: {table} has no such column, it has {', '.join(found)}")
    mapping = {name: asked.get(name, name) for name in known if name in asked or name in found}
    quantities = [name for name in mapping if name in QUANTITIES]
    if "model" not in mapping or not quantities:
        what = "model=<column>" if "model" not in mapping else "runtime_ms=<column>"
        raise InputError(f"{table} has no column of that name; add --column {what} (it has {', '.join(found)})")
    targets = Counter(QUANTITIES[name][0] for name in quantities)
    if twice := [target for target, count in targets.items() if count > 1]:
        raise InputError(f"{twice[0]} is mapped to two columns; map one")
    return mapping


def of_device(
    lines: Sequence[tuple[int, dict[str, str]]], mapping: Mapping[str, str], device: str | None, table: Path
) -> tuple[str, list[tuple[int, dict[str, str]]]]:
    """The device and its lines: a dataset root holds one device.

    Raises:
        InputError: nothing says the device, there are several, or none of that name.
    """
    if "device" not in mapping:
        if device is None:
            raise InputError(f"{table} does not say what was measured on; give --device, or --column device=<column>")
        return device, list(lines)
    counts = Counter(cells[mapping["device"]] for _, cells in lines)
    if device is None and len(counts) == 1:
        device = next(iter(counts))
    if device is None or device not in counts:
        listed = ", ".join(f"{name or '(empty)'} ({count})" for name, count in counts.most_common(10))
        raise InputError(f"{table} holds the devices {listed}; choose one with --device")
    return device, [(number, cells) for number, cells in lines if cells[mapping["device"]] == device]


def read_rows(
    lines: Sequence[tuple[int, dict[str, str]]], mapping: Mapping[str, str], folder: Path, batch: int | None
) -> tuple[list[Row], dict[str, str]]:
    """The usable lines, and {line: why not} of the others. Paths of files are relative to `folder`."""
    rows, left_out = [], {}
    for number, cells in lines:
        values = {name: cells[column] for name, column in mapping.items()}
        try:
            rows.append(_row(number, values, folder, batch))
        except InputError as error:
            left_out[f"line {number}"] = str(error)
    return rows, left_out


def _row(line: int, values: Mapping[str, str], folder: Path, batch: int | None) -> Row:
    size = _whole(values, "size")
    source, base, kind, derived = _model(values["model"], folder, _whole(values, "batch") or batch, size)
    precision = values.get("precision") or "fp32"
    if not re.fullmatch("[a-z0-9]+", precision):
        raise InputError(f"precision {precision!r} is no word of small letters and digits, such as fp32")
    measured = {}
    for name in QUANTITIES.keys() & values.keys():
        target, factor = QUANTITIES[name]
        if values[name]:
            measured[target] = _positive(name, values[name]) * factor
    if not measured:
        raise InputError(f"{values['model']}: no value")
    family = values.get("family") or derived[0]
    sub_family = values.get("sub_family") or (derived[1] if family == derived[0] else family)
    name = base if source.size is None else f"{base}_{kind}{source.size}"
    return Row(line, source, name, precision, values.get("configuration") or base, (family, sub_family), measured)


def _model(name: str, folder: Path, batch: int | None, size: int | None) -> tuple[Source, str, str, tuple[str, str]]:
    """What a cell of the model's column names: its source, a name without slashes, its kind of size, family and sub-family."""
    from nnirp.importers.timm_models import default_size, find, is_timm

    path = folder / name
    if name.endswith(".onnx") or path.is_file():
        if not path.is_file():
            raise InputError(f"{name}: no such file in {folder}")
        inside = not Path(name).is_absolute() and ".." not in Path(name).parts
        base = "--".join(Path(name).with_suffix("").parts) if inside else path.stem
        return Source("onnx", str(path.resolve()), batch), base, "", (UNKNOWN, UNKNOWN)
    if is_timm(name):
        model = find(name)
        return Source("timm", name, batch or 1, size or default_size(name)), name, "im", (model.family, model.module)
    configuration = catalog_configuration(name)
    if configuration is None:
        raise InputError(
            f"{name!r} is neither an ONNX file in {folder}, a model of timm, nor a configuration of the catalog"
        )
    sample = configuration.samples[0]
    source = Source("catalog", name, batch or 1, size or sample.size)
    return source, name.replace("/", "--"), sample.size_kind, (configuration.family, configuration.sub_family)


def _whole(values: Mapping[str, str], name: str) -> int | None:
    text = values.get(name) or None
    if text is not None and not re.fullmatch(r"0*[1-9]\d{0,8}(\.0*)?", text):
        raise InputError(f"{name} {text!r} is no positive whole number")
    return None if text is None else int(float(text))


def _positive(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise InputError(f"{name} {text!r} is no positive number")
    return value


def _taxonomy(rows: Sequence[Row], numbers: Mapping[str, int], table: Path) -> dict[int, tuple[str, str]]:
    """{configuration: (family, sub-family)}.

    Raises:
        InputError: a configuration is in two sub-families, or a sub-family in two families.
    """
    found: dict[int, tuple[str, str]] = {}
    families: dict[str, str] = {}
    for row in rows:
        family, sub_family = row.taxonomy
        if found.setdefault(numbers[row.configuration], row.taxonomy) != row.taxonomy:
            raise InputError(f"{table}, line {row.line}: {row.configuration} is in two families or sub-families")
        if families.setdefault(sub_family, family) != family:
            raise InputError(
                f"{table}, line {row.line}: sub-family {sub_family!r} is in {family} and {families[sub_family]}"
            )
    return found


def _measured(
    name: str,
    members: Sequence[Row],
    outcomes: Mapping[Source, Any],
    numbers: Mapping[str, int],
    fingerprint: Mapping[str, Any],
    table: str,
) -> Measured:
    first = members[0]
    outcome = outcomes[first.source]
    values: dict[str, list[float]] = {}
    for row in members:
        for target, value in row.values.items():
            values.setdefault(target, []).append(value)
    meta = {
        "fingerprint": dict(fingerprint),
        "precision": first.precision,
        "batch": outcome.batch,
        "imported_from": table,
        "lines": [row.line for row in members],
    }
    return Measured(name, numbers[first.configuration], outcome.path, values, meta)
