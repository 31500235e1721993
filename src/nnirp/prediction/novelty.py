"""What of a graph a predictor's training pool never had."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnirp.errors import NotPulledError
from nnirp.features.encoder import EncodedGraph
from nnirp.features.vocabulary import load_vocabulary
from nnirp.prediction.answer import Novelty

FILE_NAME = "pool.json"
SIZES = ("nodes", "edges", "FLOPs", "bytes", "batch")
TOLERANCE = 0.01
"""Of a doubling: sizes are compared as float32 logarithms."""


@dataclass(frozen=True)
class Pool:
    """A training pool: operators and (producer, consumer) pairs by vocabulary number, and the range of log2 sizes, `SIZES`."""

    operators: frozenset[int]
    bigrams: frozenset[tuple[int, int]]
    low: tuple[float, ...]
    high: tuple[float, ...]


def read_pool(weights: Path) -> Pool:
    """The pool that is kept beside a predictor's weights.

    Raises:
        NotPulledError: it is absent.
    """
    path = weights / FILE_NAME
    if not path.is_file():
        raise NotPulledError(f"{path} is missing; `dvc pull models` brings the published predictors")
    content = json.loads(path.read_text(encoding="utf-8"))
    bigrams = frozenset((first, second) for first, second in content["bigrams"])
    return Pool(frozenset(content["operators"]), bigrams, tuple(content["low"]), tuple(content["high"]))


def novelty_of(encoded: EncodedGraph, pool: Pool) -> Novelty:
    """Operators, bigrams and sizes of a graph outside a pool, in words."""
    names = load_vocabulary().operators
    operators = set(np.unique(encoded.op).tolist())
    pairs = np.unique(encoded.op[encoded.edge_index], axis=1).T.tolist()
    sizes = [
        f"{name} {2**value:.3g} {'below' if value < low else 'above'} the training range {2**low:.3g} to {2**high:.3g}"
        for name, value, low, high in zip(SIZES, encoded.u.astype(float), pool.low, pool.high, strict=True)
        if not low - TOLERANCE <= value <= high + TOLERANCE
    ]
    return Novelty(
        operators=tuple(_unknown_names(encoded) if i == 0 else names[i] for i in sorted(operators - pool.operators)),
        bigrams=tuple(f"{names[a]}→{names[b]}" for a, b in sorted({tuple(p) for p in pairs} - pool.bigrams)),
        sizes=tuple(sizes),
    )


def _unknown_names(encoded: EncodedGraph) -> str:
    """The real names behind the vocabulary's entry for everything else."""
    return ", ".join(sorted(encoded.unknown)) or load_vocabulary().operators[0]
