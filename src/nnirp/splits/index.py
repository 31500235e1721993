"""Index files: which samples each fold of a protocol trains on, validates on and tests on."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nnirp.errors import InputError, NotPulledError

SCHEMA = 1
PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class Fold:
    """Sample names of one fold, each part sorted."""

    name: str
    train: tuple[str, ...]
    val: tuple[str, ...]
    test: tuple[str, ...]

    def part(self, name: str) -> tuple[str, ...]:
        """The samples of `train`, `val` or `test`."""
        return getattr(self, name)


@dataclass(frozen=True)
class Index:
    """One protocol's folds and what is known about them.

    coverage: {fold: {"val"|"test": {cluster: {"distinct", "weighted"}}}}; explanation: one sentence per decision.
    """

    protocol: str
    folds: tuple[Fold, ...]
    version: int = 1
    seed: int = 0
    dataset: Mapping[str, Any] = field(default_factory=dict)
    coverage: Mapping[str, Any] = field(default_factory=dict)
    explanation: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """sha256 over the folds' names and sorted samples; two files with one digest are the same split."""
        content = [[f.name, *(sorted(f.part(p)) for p in PARTS)] for f in self.folds]
        return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()

    def fold(self, name: str | int) -> Fold:
        """The fold of that name, or at that position. Raises InputError naming the folds there are."""
        for fold in self.folds:
            if fold.name == str(name):
                return fold
        if isinstance(name, int) and 0 <= name < len(self.folds):
            return self.folds[name]
        names = ", ".join(f.name for f in self.folds)
        raise InputError(f"split {self.protocol!r} has no fold {name!r}; choose one of: {names}")

    def to_json(self) -> str:
        """The file's text; the same split gives the same bytes."""
        content = {
            "schema": SCHEMA,
            "protocol": self.protocol,
            "version": self.version,
            "seed": self.seed,
            "dataset": dict(self.dataset),
            "digest": self.digest,
            "folds": [{"name": f.name} | {p: sorted(f.part(p)) for p in PARTS} for f in self.folds],
            "coverage": self.coverage,
            "explanation": list(self.explanation),
        }
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_index(index: Index, path: str | Path) -> None:
    """Writes the index file in one step: a reader sees the old file or the new one."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(index.to_json(), encoding="utf-8")
    partial.replace(path)


def _names(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise InputError(f"{where} is not a list of sample names; write it again with `nnirp split`")
    return tuple(value)


def read_index(path: str | Path, samples: Collection[str] | None = None, *, strict: bool = True) -> Index:
    """Reads and checks an index file.

    samples: the data set's sample names; a name outside them is refused. strict: also refuse a sample in two parts or
    twice in one (the audit reads with strict=False, to report it). A file without a digest, written by hand, is accepted.
    Raises NotPulledError when the file is absent and InputError, in one line, for everything else.
    """
    path = Path(path)
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotPulledError(f"{path} is missing; run `dvc pull {path}` or `nnirp split`") from None
    except (json.JSONDecodeError, UnicodeDecodeError, OSError) as error:
        message = f"{path} is not a JSON index file ({str(error).splitlines()[0]}); write it with `nnirp split`"
        raise InputError(message) from None
    if not isinstance(raw, dict) or not isinstance(raw.get("folds"), list) or not raw["folds"]:
        raise InputError(f"{path} has no list 'folds'; expected {{protocol, folds: [{{name, train, val, test}}]}}")
    if raw.get("schema", SCHEMA) != SCHEMA:
        raise InputError(f"{path} has schema {raw['schema']!r}, this version reads {SCHEMA}; run `nnirp split` again")
    if not isinstance(raw.get("protocol"), str):
        raise InputError(f"{path} names no 'protocol'; add one, such as \"cluster\"")
    folds = []
    for i, entry in enumerate(raw["folds"]):
        if not isinstance(entry, dict):
            raise InputError(f"{path}, fold {i} is not an object; expected {{name, train, val, test}}")
        name = str(entry.get("name", i))
        parts = [_names(entry.get(p, [] if p == "val" else None), f"{path}, fold {name}, {p!r}") for p in PARTS]
        folds.append(Fold(name, *parts))
    if len({f.name for f in folds}) < len(folds):
        raise InputError(f"{path} has two folds of one name; give each its own")
    for value, kind, key in ((raw.get("seed", 0), int, "seed"), (raw.get("version", 1), int, "version")):
        if not isinstance(value, kind):
            raise InputError(f"{path}: {key!r} is {value!r}, expected a whole number")
    for key in ("dataset", "coverage"):
        if not isinstance(raw.get(key, {}), dict):
            raise InputError(f"{path}: {key!r} is not an object; write it again with `nnirp split`")
    index = Index(
        raw["protocol"],
        tuple(folds),
        raw.get("version", 1),
        raw.get("seed", 0),
        raw.get("dataset", {}),
        raw.get("coverage", {}),
        tuple(str(line) for line in raw.get("explanation", ())),
    )
    if raw.get("digest", index.digest) != index.digest:
        raise InputError(f"{path} does not match its digest: it was edited; run `nnirp split` again or drop 'digest'")
    if strict:
        check_index(index, samples, where=str(path))
    return index


def check_index(index: Index, samples: Collection[str] | None = None, where: str = "index") -> None:
    """Raises InputError when a part lists a sample twice, two parts share one, a part to use is empty, or one is unknown."""
    known = None if samples is None else set(samples)
    for fold in index.folds:
        seen: dict[str, str] = {}
        for part in PARTS:
            for sample in fold.part(part):
                if sample in seen:
                    both = f"{seen[sample]!r} and {part!r}" if seen[sample] != part else f"twice in {part!r}"
                    raise InputError(f"{where}, fold {fold.name}: sample {sample!r} is in {both}; list it once")
                seen[sample] = part
        for part in ("train", "test"):
            if not fold.part(part):
                raise InputError(f"{where}, fold {fold.name}: {part!r} is empty; name at least one sample")
        unknown = sorted(set(seen) - known) if known is not None else []
        if unknown:
            message = (
                f"{where}, fold {fold.name}: {len(unknown)} samples are not in the data set, such as {unknown[0]!r}"
            )
            raise InputError(f"{message}; run `dvc pull` or `nnirp split` again")
