"""What a predictor has seen: operators, bigrams and the range of sizes of its training pool, and what a new graph adds."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from nnirp.errors import NotPulledError
from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import GraphSet

FILE_NAME = "pool.json"
SIZES = ("nodes", "edges", "FLOPs", "bytes", "batch")
NOVELTIES = ("operators", "bigrams", "sizes")
_TOLERANCE = 0.01  # of a doubling: rounding of float32 logarithms


@dataclass(frozen=True)
class Pool:
    """A training pool in short. `bigrams` are (producer, consumer) operator ids; `low` and `high` float [5] bound `u`."""

    operators: frozenset[int]
    bigrams: frozenset[tuple[int, int]]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Novelty:
    """How a graph differs from a pool; all empty means that nothing was found to warn of."""

    operators: tuple[str, ...] = ()
    bigrams: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.operators or self.bigrams or self.sizes)


def describe_pool(graphs: GraphSet) -> Pool:
    """Gather what a set of graphs holds."""
    operators: set[int] = set()
    bigrams: set[tuple[int, int]] = set()
    for batch in graphs.batches(max_nodes=100_000):
        operators |= set(batch.op.unique().tolist())
        pairs = batch.op[batch.edge_index].unique(dim=1)
        bigrams |= set(zip(*pairs.tolist(), strict=True))
    u = graphs.u.astype(np.float64)
    return Pool(frozenset(operators), frozenset(bigrams), tuple(u.min(axis=0).tolist()), tuple(u.max(axis=0).tolist()))


def write_pool(pool: Pool, folder: Path) -> None:
    """Write `folder/pool.json`."""
    content = {key: sorted(value) if isinstance(value, frozenset) else value for key, value in asdict(pool).items()}
    (folder / FILE_NAME).write_text(json.dumps(content) + "\n", encoding="utf-8")


def read_pool(folder: Path) -> Pool:
    """Read `folder/pool.json`.

    Raises:
        NotPulledError: it is absent.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        raise NotPulledError(
            f"{path} is missing; `dvc pull models` brings the published predictors, `dvc repro train` makes them"
        )
    content = json.loads(path.read_text(encoding="utf-8"))
    bigrams = frozenset((first, second) for first, second in content["bigrams"])
    return Pool(frozenset(content["operators"]), bigrams, tuple(content["low"]), tuple(content["high"]))


def novelty(graphs: GraphSet, pool: Pool, names: tuple[str, ...]) -> Novelty:
    """Operators, bigrams and sizes of one graph outside a pool.

    Args:
        graphs: a set with one graph.
        names: the vocabulary, operator names by id.
    """
    seen = describe_pool(graphs)
    sizes = [
        f"{name} {2**value:.3g} {'below' if value < low else 'above'} the training range {2**low:.3g} to {2**high:.3g}"
        for name, value, low, high in zip(SIZES, seen.low, pool.low, pool.high, strict=True)
        if not low - _TOLERANCE <= value <= high + _TOLERANCE
    ]
    return Novelty(
        operators=tuple(names[i] for i in sorted(seen.operators - pool.operators)),
        bigrams=tuple(f"{names[a]}→{names[b]}" for a, b in sorted(seen.bigrams - pool.bigrams)),
        sizes=tuple(sizes),
    )


def novel(graphs: GraphSet, pool: Pool) -> np.ndarray:
    """bool [n, 3]: whether each graph has an operator, a bigram or a size (`NOVELTIES`) that the pool lacks."""
    kinds = len(load_vocabulary())
    operators, bigrams = np.zeros(kinds, dtype=bool), np.zeros((kinds, kinds), dtype=bool)
    operators[list(pool.operators)] = True
    for pair in pool.bigrams:
        bigrams[pair] = True
    found = np.zeros((len(graphs), len(NOVELTIES)), dtype=bool)
    for batch in graphs.batches(max_nodes=100_000):
        op, graph = batch.op.numpy(), batch.index.numpy()[batch.graph.numpy()]
        source, target = batch.edge_index.numpy()
        found[graph[~operators[op]], 0] = True
        found[graph[source[~bigrams[op[source], op[target]]]], 1] = True
    u = graphs.u.astype(np.float64)
    found[:, 2] = ((u < np.array(pool.low) - _TOLERANCE) | (u > np.array(pool.high) + _TOLERANCE)).any(axis=1)
    return found
