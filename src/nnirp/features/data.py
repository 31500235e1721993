"""An encoded graph as the PyTorch Geometric graph of the published layer."""

from collections.abc import Sequence

import numpy as np
import torch
from torch_geometric.data import Data

from nnirp.features.encoder import EncodedGraph


def to_data(encoded: EncodedGraph, y: Sequence[float] | np.ndarray) -> Data:
    """The fields of the published format and nothing else.

    Args:
        encoded: a graph of N nodes and E edges.
        y: [T], log2 of the targets; NaN where one was not measured.

    Returns:
        x float32 [N, 14], op_type_id int64 [N], edge_index int64 [2, E], edge_attr float32 [E, 18], u float32 [1, 5],
        y float32 [1, T].
    """
    return Data(
        x=torch.tensor(encoded.x, dtype=torch.float32),
        op_type_id=torch.tensor(encoded.op, dtype=torch.int64),
        edge_index=torch.tensor(encoded.edge_index, dtype=torch.int64),
        edge_attr=torch.tensor(encoded.edge_attr, dtype=torch.float32),
        u=torch.tensor(encoded.u, dtype=torch.float32).reshape(1, -1),
        y=torch.tensor(np.asarray(y, dtype=np.float32)).reshape(1, -1),
    )
