"""What can be counted in nn-Meter's tables without a graph of ONNX: bigram coverage, and the arithmetic of the products."""

import numpy as np

from nnirp.importers.nn_meter_source import WINDOW, Tables
from nnirp.splits.bigrams import BigramTable, Coverage


def family_coverage(tables: Tables) -> dict[str, Coverage]:
    """Coverage of each family's bigrams by all the others, over the source's own operator names, `Const` included."""
    nodes = tables.op[tables.edges + np.repeat(tables.node_ptr[:-1], np.diff(tables.edge_ptr))[:, None]].astype(
        np.int64
    )
    families, code = np.unique(tables.family, return_inverse=True)
    radix = len(tables.operators)
    keys = (np.repeat(code, np.diff(tables.edge_ptr)) * radix + nodes[:, 0]) * radix + nodes[:, 1]
    counters: dict[str, dict[tuple[str, str], int]] = {str(name): {} for name in families}
    for key, count in zip(*np.unique(keys, return_counts=True), strict=True):
        pair, target = divmod(int(key), radix)
        family, source = divmod(pair, radix)
        counters[str(families[family])][tables.operators[source], tables.operators[target]] = int(count)
    table = BigramTable.from_counters({family: [counter] for family, counter in counters.items()})
    rows = np.arange(len(table.rows))
    return {name: table.coverage(table.pool(rows != i))[i] for i, name in enumerate(table.rows)}


def product_flops(tables: Tables) -> np.ndarray:
    """float64 [G]: FLOPs of convolutions and matrix products, 2 a multiply-accumulate, straight from the tables.

    Conv2D: 2 · |Y| · k_h · k_w · C_in; depthwise: 2 · |Y| · k_h · k_w; MatMul: 2 · |Y| · K.
    """
    column = dict(zip(WINDOW, tables.window.T.astype(np.float64), strict=True))
    size = np.where(tables.outputs == 0, 1, np.abs(tables.outputs)).astype(np.float64).prod(axis=1)
    taps = column["kernel_h"] * column["kernel_w"]
    depth = np.zeros(len(size))
    for name, values in {
        "Conv2D": taps * column["weight_in"],
        "DepthwiseConv2dNative": taps,
        "MatMul": tables.inputs[:, 1],
    }.items():
        if name in tables.operators:
            rows = tables.op == tables.operators.index(name)
            depth[rows] = values[rows]
    graph = np.repeat(np.arange(len(tables)), np.diff(tables.node_ptr))
    return np.bincount(graph, weights=2.0 * size * depth, minlength=len(tables))
