"""What the catalog holds: source configurations and their samples, and the JSON file both are written to."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from nnirp.catalog.taxonomy import FAMILIES, SUB_FAMILIES
from nnirp.errors import InputError, NotPulledError

SCHEMA = 1


@dataclass(frozen=True)
class Sample:
    """One measured point: a source configuration at one batch, size, precision and mode.

    `size` is pixels a side ("im"), tokens ("seq"), waveform samples, spectrogram frames or time steps ("frames", "steps").
    `arguments` override the builder's arguments of the configuration; empty where nothing is swept.
    """

    name: str
    configuration_id: int
    batch: int
    size: int
    size_kind: str
    precision: str
    mode: str
    arguments: dict[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class SourceConfiguration:
    """One architecture, real or parametric, with the samples drawn from it. `id` never changes and is never reused."""

    id: int
    name: str
    family: str
    sub_family: str
    builder: str
    arguments: dict[str, Any] = field(hash=False)
    library: str
    model_type: str | None
    parametric: bool
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class Catalog:
    """All source configurations of one selection, sorted by id."""

    configurations: tuple[SourceConfiguration, ...]
    selection: str = "starter"

    @cached_property
    def _by_id(self) -> dict[int, SourceConfiguration]:
        return {configuration.id: configuration for configuration in self.configurations}

    @cached_property
    def _by_sample(self) -> dict[str, tuple[SourceConfiguration, Sample]]:
        return {s.name: (configuration, s) for configuration in self.configurations for s in configuration.samples}

    def by_id(self, identifier: int) -> SourceConfiguration:
        """Return the configuration with this id; raises InputError for an unknown one."""
        try:
            return self._by_id[identifier]
        except KeyError:
            raise InputError(
                f"catalog {self.selection}: no source configuration has id {identifier}; list them with `nnirp catalog`"
            ) from None

    def sample(self, name: str) -> tuple[SourceConfiguration, Sample]:
        """Return the sample of this name with its configuration; raises InputError for an unknown one."""
        try:
            return self._by_sample[name]
        except KeyError:
            raise InputError(
                f"catalog {self.selection}: no sample is named {name!r}; list them with `nnirp catalog`"
            ) from None

    def subset(self, ids: Iterable[int] = (), samples: int | None = None) -> "Catalog":
        """Return a smaller catalog.

        Args:
            ids: configurations to keep; all where empty.
            samples: samples of each to keep, those with the smallest product of batch and size; all where None.

        Raises InputError for an unknown id.
        """
        kept = [self.by_id(i) for i in ids] or list(self.configurations)
        if samples is not None:
            smallest = {c.id: sorted(c.samples, key=lambda s: (s.batch * s.size, s.name))[:samples] for c in kept}
            kept = [replace(c, samples=tuple(smallest[c.id])) for c in kept]
        return Catalog(tuple(sorted(kept, key=lambda c: c.id)), self.selection)

    def summary(self, clusters: Mapping[int, str] | None = None) -> dict[str, Any]:
        """Count clusters, configurations and samples, in all and per family and sub-family (only those with members).

        Args:
            clusters: {configuration id: cluster}; a count of clusters is None where none of its members has one.
        """
        known = clusters or {}

        def counts(members: list[SourceConfiguration]) -> dict[str, int | None]:
            return {
                "clusters": len({known[c.id] for c in members if c.id in known}) or None,
                "configurations": len(members),
                "parametric": sum(c.parametric for c in members),
                "samples": sum(len(c.samples) for c in members),
            }

        families = {}
        for family in FAMILIES:
            members = [c for c in self.configurations if c.family == family]
            subs = [name for name, sub in SUB_FAMILIES.items() if sub.family == family]
            inside = {name: [c for c in members if c.sub_family == name] for name in subs}
            families[family] = counts(members) | {"sub_families": {n: counts(m) for n, m in inside.items() if m}}
        every_sample = [s for c in self.configurations for s in c.samples]
        return {
            "selection": self.selection,
            **counts(list(self.configurations)),
            "sub_families": sum(len(f["sub_families"]) for f in families.values()),
            "model_types": len({c.model_type for c in self.configurations if c.library == "transformers"}),
            "precisions": dict(sorted(Counter(s.precision for s in every_sample).items())),
            "modes": dict(sorted(Counter(s.mode for s in every_sample).items())),
            "families": families,
        }

    def to_json(self) -> str:
        """Return the catalog as deterministic JSON: keys, configurations (by id) and samples (by name) are sorted."""
        content = {
            "schema": SCHEMA,
            "selection": self.selection,
            "configurations": [asdict(c) for c in sorted(self.configurations, key=lambda c: c.id)],
        }
        for configuration in content["configurations"]:
            configuration["samples"] = sorted(configuration["samples"], key=lambda sample: sample["name"])
        return json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, path: str | Path) -> "Catalog":
        """Read `catalog.json`; raises NotPulledError where it is absent and InputError where it is not a catalog."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise NotPulledError(f"{path}: not there; bring it with `dvc pull {path}` or `dvc repro catalog`") from None
        try:
            content = json.loads(text)
            if content["schema"] != SCHEMA:
                raise ValueError(f"schema {content['schema']!r}, expected {SCHEMA}")
            configurations = tuple(_read_configuration(item) for item in content["configurations"])
            catalog = cls(configurations, content["selection"])
            check(catalog)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"missing {error}" if isinstance(error, KeyError) else error
            raise InputError(f"{path}: not a catalog ({reason}); write it with `dvc repro --force catalog`") from None
        return catalog


def _read_configuration(item: dict[str, Any]) -> SourceConfiguration:
    samples = tuple(Sample(**_exactly(Sample, sample)) for sample in item["samples"])
    return SourceConfiguration(**(_exactly(SourceConfiguration, item) | {"samples": samples}))


def _exactly(kind: type, item: dict[str, Any]) -> dict[str, Any]:
    expected = {f.name for f in fields(kind)}
    if set(item) != expected:
        odd = sorted(set(item) ^ expected)
        raise ValueError(f"{kind.__name__} {item.get('name')!r} has missing or unknown keys {odd}")
    return item


def check(catalog: Catalog) -> None:
    """Raise ValueError where ids or names repeat, or a sub-family, precision or mode is not one of the known ones."""
    ids = [c.id for c in catalog.configurations]
    names = [c.name for c in catalog.configurations]
    samples = [s.name for c in catalog.configurations for s in c.samples]
    for what, values in (("id", ids), ("configuration", names), ("sample", samples)):
        repeated = [value for value, count in Counter(values).items() if count > 1]
        if repeated:
            raise ValueError(f"{what} {repeated[0]!r} appears more than once")
    for c in catalog.configurations:
        if c.sub_family not in SUB_FAMILIES or SUB_FAMILIES[c.sub_family].family != c.family:
            raise ValueError(f"configuration {c.name!r}: {c.sub_family!r} is not a sub-family of {c.family!r}")
        for s in c.samples:
            if s.configuration_id != c.id or s.batch < 1 or s.size < 1:
                raise ValueError(f"sample {s.name!r} has a wrong configuration id, batch or size")
            if s.precision not in ("fp32", "bf16") or s.mode not in ("forward", "prefill", "decode"):
                raise ValueError(f"sample {s.name!r}: precision {s.precision!r} or mode {s.mode!r} is not known")
