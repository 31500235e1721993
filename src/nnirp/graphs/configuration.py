"""One source configuration → the graphs of all its samples: few of them traced, the others derived by their batch.

Samples that differ in the batch alone form a group. Of a large group two are traced, the rest is derived from these (`batches`).
Whether that can be trusted is seen, not assumed: in the first group of every mode and precision the smallest and the largest batch
are traced as well and must come out the same; otherwise the batches in question are traced throughout.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nnirp.errors import NnirpError
from nnirp.graphs.batches import BatchError, at_batch, same_graph
from nnirp.graphs.export import without_tables

if TYPE_CHECKING:
    import onnx

    from nnirp.catalog import Sample, SourceConfiguration
    from nnirp.graphs.export import Timings

SMALLEST_GROUP = 4
"""Samples from which on two traces and their check cost less than tracing all."""
PROGRESS = "progress.jsonl"


@dataclass(frozen=True)
class ExportRow:
    """What became of one sample.

    `method` is "traced", or "derived" from the exports at two other batches; `note` says why a sample of a large group was traced.
    `seconds` are those of building, tracing, optimising, deriving and writing; they stay out of the manifest, whose bytes repeat.
    """

    sample: str
    configuration: int
    status: str
    error: str | None
    nodes: int
    method: str = "traced"
    note: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass
class Trust:
    """At which batches derived graphs were found equal to traced ones.

    `odd` lists those where they were not, and 1 is judged alone: operators that repeat an entry fall away there. Another
    batch is odd where its number meets another one of the model, such as its number of heads, and the exporter merges two constants.
    """

    at_one: bool | None = None
    above: bool | None = None
    odd: list[int] = field(default_factory=list)

    def of(self, batch: int) -> bool | None:
        """Whether a derived graph is taken at this batch; None where that is to be seen."""
        return False if batch in self.odd else self.at_one if batch == 1 else self.above

    def learn(self, batch: int, equal: bool) -> None:
        """Take note of one comparison; two batches above 1 that differ end the trust in all of them."""
        if not equal:
            self.odd.append(batch)
        if batch == 1:
            self.at_one = equal
        elif equal or len([b for b in self.odd if b > 1]) == 2:
            self.above = equal


class ConfigurationExport:
    """Exports one configuration into a folder, a group at a time; what a group finished survives a kill.

    Args:
        configuration: with `id` and `samples`.
        folder: gets `<sample>.onnx` and `progress.jsonl`; groups that it holds already are not made again.
        export: `export(configuration, sample)` → graph and the seconds of its parts.
    """

    def __init__(
        self,
        configuration: "SourceConfiguration",
        folder: Path,
        export: "Callable[[SourceConfiguration, Sample], tuple[onnx.ModelProto, Timings]]",
    ):
        self.configuration = configuration
        self.folder = folder
        self.export = export
        self.trust: dict[tuple[str, str], Trust] = {}
        self.rows: dict[str, ExportRow] = {}

    def run(self) -> list[ExportRow]:
        """Export what is missing and return a row a sample, in the configuration's order."""
        self._resume()
        for group in groups(self.configuration.samples):
            if any(sample.name not in self.rows for sample in group):
                self._note({"started": [sample.name for sample in group]})
                rows = self._group(group)
                self.rows |= {row.sample: row for row in rows}
                trust = [[*key, asdict(value)] for key, value in self.trust.items()]
                self._note({"rows": [asdict(row) for row in rows], "trust": trust})
        return [self.rows[sample.name] for sample in self.configuration.samples]

    def _resume(self) -> None:
        entries = list(read_progress(self.folder))
        # A line that a kill cut short would swallow the next one.
        (self.folder / PROGRESS).write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
        for entry in entries:
            self.rows |= {row["sample"]: ExportRow(**row) for row in entry.get("rows", ())}
            self.trust |= {(mode, precision): Trust(**t) for mode, precision, t in entry.get("trust", ())}

    def _note(self, entry: dict[str, Any]) -> None:
        with (self.folder / PROGRESS).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")

    def _group(self, group: "Sequence[Sample]") -> list[ExportRow]:
        bases = [sample for sample in group if sample.batch > 1][:2]
        if len(group) < SMALLEST_GROUP or len(bases) < 2:
            return [self._trace(sample)[1] for sample in group]
        trust = self.trust.setdefault((group[0].mode, group[0].precision), Trust())
        traced = {sample.name: self._trace(sample) for sample in bases}
        first, second = (traced[sample.name][0] for sample in bases)
        made = {name: row for name, (_, row) in traced.items()}
        # The largest batch goes first, so that it decides about the others where nothing was seen yet.
        for sample in sorted((s for s in group if s.name not in made), key=lambda s: -s.batch):
            made[sample.name] = self._derive(sample, first, second, (bases[0].batch, bases[1].batch), trust)
        return [made[sample.name] for sample in group]

    def _derive(
        self,
        sample: "Sample",
        first: "onnx.ModelProto | None",
        second: "onnx.ModelProto | None",
        batches: tuple[int, int],
        trust: Trust,
    ) -> ExportRow:
        trusted = trust.of(sample.batch)
        if first is None or second is None or trusted is False:
            return self._trace(sample, "derived graphs differ" if trusted is False else None)[1]
        started = time.perf_counter()
        try:
            graph = at_batch(first, second, batches, sample.batch)
        except BatchError as error:
            return self._trace(sample, f"the batch is not free: {error}")[1]
        seconds = {"deriving": time.perf_counter() - started}
        if trusted:
            return self._write(sample, graph, "derived", seconds)
        direct, row = self._trace(sample)
        if direct is not None:
            equal = same_graph(graph, direct)
            trust.learn(sample.batch, equal)
            row = replace(row, note=f"traced to check the derived graph: {'equal' if equal else 'other'}")
        return row

    def _trace(self, sample: "Sample", note: str | None = None) -> "tuple[onnx.ModelProto | None, ExportRow]":
        started = time.perf_counter()
        try:
            graph, timings = self.export(self.configuration, sample)
        except Exception as error:
            kind = "" if isinstance(error, NnirpError) else f"{type(error).__name__}: "
            reason = " ".join(f"{kind}{error}".split())[:500]
            seconds = {"failing": time.perf_counter() - started}
            return None, ExportRow(sample.name, self.configuration.id, "failed", reason, 0, note=note, seconds=seconds)
        return graph, replace(self._write(sample, graph, "traced", asdict(timings)), note=note)

    def _write(self, sample: "Sample", graph: "onnx.ModelProto", method: str, seconds: dict[str, float]) -> ExportRow:
        started = time.perf_counter()
        content = without_tables(graph).SerializeToString(deterministic=True)
        (self.folder / f"{sample.name}.onnx").write_bytes(content)
        seconds = seconds | {"writing": time.perf_counter() - started}
        return ExportRow(sample.name, self.configuration.id, "ok", None, len(graph.graph.node), method, None, seconds)


def groups(samples: "Sequence[Sample]") -> "list[list[Sample]]":
    """Samples that differ in the batch alone, each group in the order of its batches, the groups from the smallest size up."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        key = json.dumps([sample.size, sample.mode, sample.precision, sample.arguments], sort_keys=True, default=str)
        found.setdefault(key, []).append(sample)
    ordered = sorted(found.values(), key=lambda group: (group[0].size, group[0].name))
    return [sorted(group, key=lambda sample: sample.batch) for group in ordered]


def read_progress(folder: Path) -> Iterator[dict[str, Any]]:
    """Entries of a configuration's progress; a last line that a kill cut short is left out."""
    path = folder / PROGRESS
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return
