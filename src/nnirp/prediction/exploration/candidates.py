"""Candidates as encoded graphs, few of them traced: the others are derived from the traced ones, as far as a check allows.

The points of a space fall into families that share everything which does not change in a straight line (heads, precision, a batch of
1). In a family the corners of the other axes are traced at three blocks; a candidate is interpolated between them, encoded, and
its block repeated. One point that was not traced for this is traced as a check; where it comes out other, axes are given up,
one after the other, until what is left is equal, at worst every candidate is traced.
"""

import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx

from nnirp.errors import NnirpError
from nnirp.features.encoder import EncodedGraph, encode
from nnirp.prediction.exploration.interpolation import Corners, InterpolationError
from nnirp.prediction.exploration.repetition import BLOCKS, Block, RepetitionError, find_block, repeat, same
from nnirp.prediction.exploration.spec import Point, Spec

log = logging.getLogger(__name__)
Trace = Callable[[dict[str, Any]], onnx.ModelProto]
CHECK_DEPTH = BLOCKS + 2


@dataclass
class Counts:
    """What was done: graphs traced, candidates derived, checks that came out equal and other."""

    traced: int = 0
    derived: int = 0
    equal: int = 0
    other: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass
class Family:
    """What was traced of one family. `block` is None where the depth is no straight axis."""

    axes: tuple[str, ...]
    corners: Corners | None
    block: Block | None
    alone: Point


class Candidates:
    """Encoded graphs of the points of a space.

    Args:
        spec: the space.
        trace: from all arguments of a candidate to its graph; see `trace_candidate`.
        form: that the predictor was trained on.
    """

    def __init__(self, spec: Spec, trace: Trace, form: str = "canonical") -> None:
        self.spec, self.trace, self.form = spec, trace, form
        self.counts = Counts()
        self.straight = [
            name for name, values in spec.axes().items() if name != spec.depth and _may_be_straight(name, values)
        ]
        self.deep = spec.depth is not None
        self._graphs: dict[tuple, onnx.ModelProto] = {}
        self._families: dict[tuple, Family] = {}

    def encoded(self, point: Point) -> EncodedGraph:
        """The graph of one point.

        Raises:
            NnirpError: the builder or the exporter refuses it.
        """
        while True:
            family = self._family(point)
            if family.corners is None:
                return self._encode(self._traced(point), point)
            try:
                made = self._derive(family, point)
            except (InterpolationError, RepetitionError) as error:
                self._give_up(str(error))
                continue
            self.counts.derived += 1
            return made

    def _key(self, point: Point) -> tuple:
        """What the members of a family have in common."""
        depth = self.spec.depth if self.deep else None
        shallow = depth is not None and point[depth] < BLOCKS
        fixed = tuple(sorted((k, v) for k, v in point.items() if k not in self.straight and k != depth))
        ones = tuple(name for name in self.straight if point[name] == 1)  # an exporter drops what repeats once
        return fixed, ones, point[depth] if shallow else None

    def _family(self, point: Point) -> Family:
        while True:
            key = self._key(point)
            if key not in self._families:
                axes = tuple(name for name in self.straight if point[name] != 1)
                try:
                    self._families[key] = self._start(point, axes)
                except (InterpolationError, RepetitionError) as error:
                    self._give_up(str(error))
                    continue
            return self._families[key]

    def _start(self, point: Point, axes: tuple[str, ...]) -> Family:
        shallow = self._key(point)[2] is not None
        deep = self.deep and not shallow
        if not axes and not deep:
            return Family((), None, None, point)
        base = point | ({self.spec.depth: BLOCKS} if deep else {})
        ends = [self._ends(name) for name in axes]
        graphs = [
            self._traced(base | dict(zip(axes, values, strict=True)), rule=True) for values in itertools.product(*ends)
        ]
        corners = Corners([low for low, _ in ends], [high for _, high in ends], graphs)
        first = base | {name: low for name, (low, _) in zip(axes, ends, strict=True)}
        block = find_block(self._encode(graphs[0], first)) if deep else None
        family = Family(axes, corners, block, base)
        self._check(family, base)
        return family

    def _check(self, family: Family, base: Point) -> None:
        """Trace a point between the corners and deeper than them; it must come out as derived."""
        middle = {name: self._middle(name) for name in family.axes}
        at = base | middle | ({self.spec.depth: CHECK_DEPTH} if family.block else {})
        direct = self._encode(self._traced(at, rule=True), at)
        if not same(self._derive(family, at), direct):
            self.counts.other += 1
            raise InterpolationError(f"the derived graph differs from the traced one at {at}")
        self.counts.equal += 1

    def _ends(self, name: str) -> tuple[int, int]:
        values = [v for v in self.spec.axes()[name] if v != 1]
        return min(values), max(values)

    def _middle(self, name: str) -> int:
        """A value of the axis between its ends, where it has one."""
        values = sorted(v for v in self.spec.axes()[name] if v != 1)
        return values[len(values) // 2] if len(values) > 2 else values[-1]

    def _derive(self, family: Family, point: Point) -> EncodedGraph:
        graph = family.corners.at([point[name] for name in family.axes])
        encoded = self._encode(graph, point)
        return repeat(encoded, family.block, point[self.spec.depth]) if family.block else encoded

    def _give_up(self, why: str) -> None:
        """Take the last straight axis for one that is traced at each of its values, at last the depth as well."""
        if self.straight:
            lost = self.straight.pop()
        elif self.deep:
            lost, self.deep = self.spec.depth, False
        else:
            raise NnirpError(f"a graph cannot be derived: {why}")
        self._families.clear()
        self.counts.notes.append(f"{lost} is traced at each value: {why}")
        log.info("%s is traced at each value: %s", lost, why)

    def _traced(self, point: Point, rule: bool = False) -> onnx.ModelProto:
        """A traced graph; those that families rest on are kept."""
        key = tuple(sorted(point.items(), key=lambda item: item[0]))
        if key in self._graphs:
            return self._graphs[key]
        graph = self.trace(self.spec.complete(point))
        self.counts.traced += 1
        if rule:
            self._graphs[key] = graph
        return graph

    def _encode(self, graph: onnx.ModelProto, point: Point) -> EncodedGraph:
        return encode(graph, batch=self.spec.complete(point)["batch"], form=self.form)


def _may_be_straight(name: str, values: Sequence[Any]) -> bool:
    """At least three whole numbers above 1. What a width is divided by, such as heads, never is straight."""
    whole = all(isinstance(v, int) and not isinstance(v, bool) and v > 0 for v in values)
    return whole and len({v for v in values if v != 1}) > 2 and not any(word in name for word in ("head", "group"))


def trace_candidate(spec: Spec) -> Trace:
    """How a candidate's graph is traced: built by the catalog's builder on the meta device, never run."""
    from nnirp.catalog import SourceConfiguration, build
    from nnirp.catalog.configurations import Sample
    from nnirp.graphs.export import export_graph

    def run(values: dict[str, Any]) -> onnx.ModelProto:
        own = {"batch", "size", "precision"} - set(spec.arguments)
        arguments = {k: v for k, v in values.items() if k not in own}
        sample = Sample("candidate", 0, values["batch"], values["size"], "", values["precision"], spec.mode)
        configuration = SourceConfiguration(
            0, "candidate", spec.family, "", spec.builder, arguments, "nnirp", None, True, (sample,)
        )
        built = build(configuration, sample, "meta")
        return export_graph(built.module, built.inputs)

    return run


def encode_all(
    candidates: Candidates, points: Sequence[Point]
) -> tuple[list[tuple[Point, EncodedGraph]], list[tuple[Point, str]]]:
    """Encoded graphs of the points that can be built, and the reason for each that cannot."""
    made, failed = [], []
    for point in points:
        try:
            made.append((point, candidates.encoded(point)))
        except NnirpError as error:
            failed.append((point, " ".join(str(error).split())[:300]))
    return made, failed
