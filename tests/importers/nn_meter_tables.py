"""nn-Meter's three tables written by hand: a network is a list of nodes, each with its shapes channels last."""

from dataclasses import dataclass, field

import pyarrow as pa
from pyarrow import parquet

NODE_COLUMNS = (
    *(f"in_{i}" for i in range(5)),
    *("kernel_h", "kernel_w", "weight_in", "weight_out", "stride_h", "stride_w"),
    *(f"out_{i}" for i in range(5)),
)


@dataclass
class Network:
    """Nodes and edges of one graph; `add` returns the node's number. The last added node is what the next reads by default."""

    ops: list[str] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)

    def add(self, op, shape=None, operands=None, kernel=0, stride=0, weight=(0, 0)):
        number = len(self.ops)
        if operands is None:
            operands = [number - 1] if number else []
        first = self.shapes[operands[0]] if operands else ()
        shape = first if shape is None else shape
        self.ops.append(op)
        self.shapes.append(shape)
        self.rows.append([*padded(first), kernel, kernel, *weight, stride, stride, *padded(shape)])
        self.edges += [(operand, number) for operand in operands]
        return number

    def conv(self, channels, kernel=3, stride=1, size=None, operands=None):
        """A convolution; SAME padding unless `size` says another."""
        before = self.shapes[operands[0] if operands else -1]
        size = -(-before[1] // stride) if size is None else size
        weight = (before[3], channels)
        return self.add("Conv2D", (1, size, size, channels), operands, kernel, stride, weight)

    def classifier(self, classes=10):
        """Global mean, flattening, fully connected layer; the operator before has the mean's size, as in the source."""
        channels = self.shapes[-1][-1]
        self.rows[-1][-5:] = padded((1, channels))
        self.add("Mean", (1, channels))
        self.rows[-1][:5] = padded((1, channels))
        self.add("Reshape", (-1, channels))
        self.add("MatMul", (-1, classes))
        return self


def padded(shape):
    return [*shape, *[0] * (5 - len(shape))]


def image(size=8, channels=3):
    network = Network()
    network.add("Placeholder", (1, size, size, channels))
    return network


def plain(width=8, depth=1, size=8):
    """Convolution, batch normalisation, activation, and so on, then the classifier."""
    network = image(size)
    for _ in range(depth):
        network.conv(width)
        network.add("FusedBatchNorm")
        network.add("Relu")
    return network.classifier()


def residual(width=8, size=8):
    network = image(size)
    start = network.conv(width)
    network.add("Relu")
    network.conv(width)
    network.add("Add", operands=[len(network.ops) - 1, start])
    network.add("Relu6")
    return network.classifier()


def write_tables(folder, networks, **labels):
    """Write nodes.parquet, edges.parquet and labels.parquet; `networks` are (family, Network) pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    numbered = [(graph, network) for graph, (_, network) in enumerate(networks)]
    nodes = {
        "graph": pa.array([g for g, n in numbered for _ in n.ops], pa.int32()),
        "op": pa.array([op for _, n in numbered for op in n.ops]).dictionary_encode(),
    }
    for column, name in enumerate(NODE_COLUMNS):
        nodes[name] = pa.array([row[column] for _, n in numbered for row in n.rows], pa.int32())
    edges = [(g, *edge) for g, n in numbered for edge in n.edges]
    columns = {
        name: pa.array([edge[i] for edge in edges], pa.int32()) for i, name in enumerate(("graph", "source", "target"))
    }
    families = {"graph": range(len(networks)), "family": [family for family, _ in networks]}
    parquet.write_table(pa.table(nodes), folder / "nodes.parquet")
    parquet.write_table(pa.table(columns), folder / "edges.parquet")
    parquet.write_table(pa.table({**families, **labels}), folder / "labels.parquet")
    return folder
