"""Encoded graphs without labels as the set that predictors read."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nnirp.features.data import to_data
from nnirp.features.encoder import EncodedGraph
from nnirp.layers.store import COLUMNS, GraphSet, GraphStore


def graph_set(encoded: Sequence[EncodedGraph], targets: tuple[str, ...]) -> GraphSet:
    """A set of n graphs in the order given; every label is missing."""
    samples = pd.DataFrame([dict.fromkeys(COLUMNS)] * len(encoded)).assign(
        sample=[f"model-{i}" for i in range(len(encoded))], precision="fp32"
    )
    memory = np.stack([np.asarray(e.memory, dtype=np.float64) for e in encoded])
    unknown = [float("nan")] * len(targets)
    return GraphStore.from_graphs([to_data(e, unknown) for e in encoded], samples, targets, memory).all()
