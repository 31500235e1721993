"""Traces of others as rows of this benchmark: a CSV file, or a zip of them, with a file that says what the columns are."""

import csv
import hashlib
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError

from nnirp.compilers.configuration import Measurement, load_grid
from nnirp.compilers.places import LABEL
from nnirp.compilers.rows import MEASURED, Row, blank, judged, read_row, row_files, write_row
from nnirp.errors import InputError, UnsafeFileError
from nnirp.parameters import Section, describe

MAX_BYTES, MAX_MEMBERS, MAX_LINES = 1 << 30, 10_000, 5_000_000
FIELDS = ("device", "compiler", "experiment", "model", "width", "depth", "batch", "size", "precision")
NEEDED = ("device", "compiler", "experiment", "model", "batch")
UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}


class Mapped(Section):
    """What a file of columns says.

    Attributes:
        columns: {field: column}, for `FIELDS` and, of them one, `latency` or `throughput`; `status` where failures are lines too.
        unit: of the latency: ns, us, ms or s. Throughput is samples a second.
        constants: {field: value} of every line.
        path: a regular expression with named groups, which are fields, for the path of the file inside the zip.
        rename: {field: {value there: value here}}, such as compiler: {pytorch: identity}.
        failed: values of the status column that mean no measurement; a line without a latency is one in any case.
        members: a regular expression of the paths inside a zip that are read; all `.csv` by default.
    """

    columns: dict[str, str]
    unit: Literal["ns", "us", "ms", "s"] = "ms"
    constants: dict[str, str | int] = Field(default_factory=dict)
    path: str = ""
    rename: dict[str, dict[str, str]] = Field(default_factory=dict)
    failed: tuple[str, ...] = ()
    members: str = r"\.csv$"
    delimiter: str = Field(",", min_length=1, max_length=1)


def read_mapping(path: Path) -> Mapped:
    """Read a file of columns.

    Raises:
        InputError: it is absent or no such file, a field is unknown, or one that is needed comes from nowhere.
    """
    try:
        mapped = Mapped.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        groups = set(re.compile(mapped.path).groupindex)
        re.compile(mapped.members)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; docs/compilers.md shows such a file") from None
    except (yaml.YAMLError, UnicodeDecodeError, re.error) as error:
        raise InputError(f"{path} cannot be read ({' '.join(str(error).split())[:160]}); mend it") from None
    except ValidationError as error:
        raise InputError(f"{path.name}: {describe(error)}; docs/compilers.md shows such a file") from None
    given = {*mapped.columns, *mapped.constants, *groups}
    if unknown := sorted(given - {*FIELDS, "latency", "throughput", "status"}):
        raise InputError(
            f"{path.name}: {unknown[0]!r} is no field; expected {', '.join(FIELDS)}, latency, throughput or status"
        )
    if absent := [name for name in NEEDED if name not in given]:
        raise InputError(f"{path.name}: nothing says the {absent[0]}; add it to columns, constants or path")
    if len({"latency", "throughput"} & set(mapped.columns)) != 1:
        raise InputError(f"{path.name}: columns needs one of latency and throughput")
    return mapped


def import_traces(source: Path, columns: Path, benchmarks: Path) -> dict[str, Any]:
    """Write a row a run; lines of one device, compiler, model and batch are the repeats of one run.

    Args:
        source: a CSV file, or a zip of CSV files.
        columns: see `Mapped`.
        benchmarks: `data/benchmarks`; what was imported before from a file of that name is replaced.

    Returns:
        Counts, and `left_out`: reason → lines.

    Raises:
        InputError: a file is not what it should be, nothing can be imported, or own measurements would be overwritten.
        UnsafeFileError: the zip unpacks to too much.
    """
    mapped, measurement = read_mapping(columns), load_grid().measurement
    runs: dict[tuple, dict[str, Any]] = {}
    left_out: Counter[str] = Counter()
    lines = 0
    for path, line in _lines(source, mapped):
        lines += 1
        try:
            fields, value, failure = _read(path, line, mapped)
        except ValueError as error:
            left_out[str(error)] += 1
            continue
        run = runs.setdefault(tuple(fields.get(name) for name in FIELDS), {"repeats": [], "failures": []})
        run["failures" if failure else "repeats"].append(failure or value)
    if not runs:
        reason = next(iter(left_out), "it has no line")
        raise InputError(f"{source}: nothing could be imported; {reason}")
    origin = f"{source.name} sha256:{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    rows = [_row(dict(zip(FIELDS, key, strict=True)), run, origin, measurement) for key, run in runs.items()]
    if twice := [name for name, n in Counter((r["device"], r["compiler"], r["run"]) for r in rows).items() if n > 1]:
        raise InputError(f"{source}: two runs are both called {twice[0][2]}; map size or precision too")
    for device in {row["device"] for row in rows}:
        _claim(benchmarks / device, source.name)
    for row in rows:
        write_row(row, benchmarks / row["device"] / row["compiler"] / f"{row['run']}.csv")
    statuses = Counter(row["status"] for row in rows)
    return {
        "source": origin,
        "devices": len({row["device"] for row in rows}),
        "compilers": len({row["compiler"] for row in rows}),
        "lines": lines,
        "runs": len(rows),
        "measured": statuses[MEASURED],
        "failed": len(rows) - statuses[MEASURED],
        "left_out": dict(left_out),
    }


def _lines(source: Path, mapped: Mapped) -> Iterator[tuple[str, dict[str, str]]]:
    """Every line with the path of its file."""
    left = MAX_LINES
    for path, text in _files(source, mapped):
        reader = csv.DictReader(text, delimiter=mapped.delimiter)
        header = [name.strip() for name in reader.fieldnames or ()]
        if absent := sorted(set(mapped.columns.values()) - set(header)):
            raise InputError(
                f"{path} has no column {absent[0]!r}, it has {', '.join(header) or 'none'}; correct the columns"
            )
        reader.fieldnames = header
        try:
            for line in reader:
                left -= 1
                if left < 0:
                    raise UnsafeFileError(f"{source} has more than {MAX_LINES} lines; import a part of it")
                yield path, line
        except (csv.Error, UnicodeDecodeError, zipfile.BadZipFile) as error:
            raise InputError(f"{path} is not a readable CSV file ({error}); get it again from its source") from None


def _files(source: Path, mapped: Mapped) -> Iterator[tuple[str, io.TextIOBase]]:
    if not source.is_file():
        raise InputError(f"{source} does not exist; name a CSV file or a zip of them")
    if not zipfile.is_zipfile(source):
        with source.open(encoding="utf-8-sig", newline="") as text:
            yield source.name, text
        return
    with zipfile.ZipFile(source) as archive:
        members = [m for m in archive.infolist() if not m.is_dir() and re.search(mapped.members, m.filename)]
        if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_BYTES:
            raise UnsafeFileError(
                f"{source} unpacks to more than {MAX_MEMBERS} files or {MAX_BYTES >> 20} MiB; import a part of it"
            )
        if not members:
            raise InputError(f"{source} holds no file whose path has {mapped.members!r}; correct `members`")
        for member in members:
            with archive.open(member) as stream:  # zipfile ends at the size that the member states
                yield member.filename, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")


def _read(path: str, line: Mapping[str, str], mapped: Mapped) -> tuple[dict[str, Any], float, str]:
    """Fields, latency in milliseconds, and why there is none.

    Raises:
        ValueError: a field is absent or no such value.
    """
    found: dict[str, Any] = dict(mapped.constants)
    if mapped.path:
        match = re.search(mapped.path, path)
        if not match:
            raise ValueError(f"the path {path} does not fit {mapped.path!r}")
        found |= {name: value for name, value in match.groupdict().items() if value is not None}
    found |= {
        name: text.strip() for name, column in mapped.columns.items() if (text := line.get(column)) and text.strip()
    }
    for name, names in mapped.rename.items():
        if name in found:
            found[name] = names.get(str(found[name]), found[name])
    if absent := [name for name in NEEDED if not found.get(name)]:
        raise ValueError(f"no {absent[0]}")
    for name in ("batch", "width", "depth", "size"):
        if name in found:
            number = float(found[name])
            if number < 1 or number != int(number):
                raise ValueError(f"{name} {found[name]!r} is no positive whole number")
            found[name] = int(number)
    for name in ("device", "compiler"):
        if not LABEL.fullmatch(str(found[name])):
            raise ValueError(f"{name} {found[name]!r} is no plain name; rename it")
    status = str(found.get("status", ""))
    if status in mapped.failed:
        return found, 0.0, status
    quantity = "latency" if "latency" in mapped.columns else "throughput"
    if quantity not in found:
        return found, 0.0, f"no {quantity}"
    value = float(found[quantity])
    if not 0 < value < float("inf"):
        raise ValueError(f"{quantity} {found[quantity]!r} is no positive number")
    return found, value * UNITS[mapped.unit] if quantity == "latency" else 1e3 * found["batch"] / value, ""


def _row(fields: dict[str, Any], run: Mapping[str, list], origin: str, measurement: Measurement) -> Row:
    parts = [
        fields["experiment"],
        fields["model"],
        *(f"{k[0]}{fields[k]}" for k in ("width", "depth", "size") if fields[k]),
    ]
    name = re.sub(
        r"[^A-Za-z0-9_.+=@-]", "-", "_".join([*map(str, parts), f"b{fields['batch']}", str(fields["precision"] or "")])
    )
    row = blank(**fields, run=name.strip("_"), source=origin, status=MEASURED)
    if run["failures"] and not run["repeats"]:
        return row | {"status": "error", "error": f"in the traces: {run['failures'][0]}"}
    times = " ".join(f"{time:.9g}" for time in run["repeats"])
    row |= {"rounds_ms": times}
    least = measurement.model_copy(update={"min_repeats": 1})  # a published mean is one number
    return judged(row, least, None)


def _claim(folder: Path, name: str) -> None:
    """Remove what an earlier import of this file wrote.

    Raises:
        InputError: the folder holds something else.
    """
    if not folder.exists():
        return
    files = list(row_files(folder))
    for path in files:
        if not (read_row(path)["source"] or "").startswith(f"{name} "):
            raise InputError(f"{folder} holds runs that are not of {name}; give the device another label by `rename`")
    for path in files:
        path.unlink()
