"""nn-Meter's operator graphs and latencies, as three Parquet tables: nodes, edges, labels.

Graphs: Zhang et al., nn-Meter, MobiSys 2021 (MIT); with these columns in the DGRL hardware benchmark (CC-BY 4.0).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnirp.errors import InputError, NotPulledError

FILES = ("nodes", "edges", "labels")
IN = tuple(f"in_{i}" for i in range(5))
OUT = tuple(f"out_{i}" for i in range(5))
WINDOW = ("kernel_h", "kernel_w", "weight_in", "weight_out", "stride_h", "stride_w")
_NODES, _EDGES = ("graph", "op", *IN, *WINDOW, *OUT), ("graph", "source", "target")
_SUFFIX = "_ms"


@dataclass(frozen=True)
class Tables:
    """All graphs, one after the other; N nodes, E edges, G graphs.

    operators: names; op: int16 [N], index into them. inputs, outputs: int32 [N, 5], the first operand's and the result's shape,
    channels last, zero-padded. window: int32 [N, 6], the columns of `WINDOW`. node_ptr, edge_ptr: int64 [G + 1]. edges: int32
    [E, 2], (producer, consumer) counted from the graph's first node. family: str [G]. labels: {device: float64 [G]}, ms.
    """

    operators: tuple[str, ...]
    op: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    window: np.ndarray
    node_ptr: np.ndarray
    edges: np.ndarray
    edge_ptr: np.ndarray
    family: np.ndarray
    labels: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.family)

    def graph(self, number: int) -> "OperatorGraph":
        """One graph, with its own rows of the tables."""
        nodes = slice(self.node_ptr[number], self.node_ptr[number + 1])
        edges = slice(self.edge_ptr[number], self.edge_ptr[number + 1])
        op = [self.operators[code] for code in self.op[nodes].tolist()]
        return OperatorGraph(
            op,
            self.inputs[nodes].tolist(),
            self.outputs[nodes].tolist(),
            self.window[nodes].tolist(),
            self.edges[edges].tolist(),
        )

    def take(self, graphs: Sequence[int]) -> "Tables":
        """The tables of some graphs, in this order."""
        nodes, node_ptr = _rows(self.node_ptr, graphs)
        edges, edge_ptr = _rows(self.edge_ptr, graphs)
        labels = {device: values[graphs] for device, values in self.labels.items()}
        parts = (self.op[nodes], self.inputs[nodes], self.outputs[nodes], self.window[nodes])
        return Tables(
            self.operators, *parts, node_ptr, self.edges[edges], edge_ptr, self.family[np.asarray(graphs)], labels
        )


@dataclass(frozen=True)
class OperatorGraph:
    """One graph as plain lists, a row a node: operator, shapes as the tables have them, window; and the edges."""

    op: list[str]
    inputs: list[list[int]]
    outputs: list[list[int]]
    window: list[list[int]]
    edges: list[list[int]]


def read_tables(folder: Path) -> Tables:
    """Read nodes.parquet, edges.parquet and labels.parquet of a folder.

    Raises:
        NotPulledError: a file is absent.
        InputError: a file is no Parquet, lacks a column, or does not fit the others.
    """
    labels = _read(folder, "labels", ("graph", "family"))
    devices = [name for name in labels if name.endswith(_SUFFIX)]
    if not devices:
        raise InputError(
            f"{folder / 'labels.parquet'} has no column <device>{_SUFFIX}; name a folder of nn-Meter's tables"
        )
    family = np.asarray(labels["family"]).astype(str)
    graphs = len(family)
    if not np.array_equal(labels["graph"], np.arange(graphs)):
        raise InputError(f"{folder / 'labels.parquet'}: expected a row a graph, numbered from 0 in order")
    nodes, edges = _read(folder, "nodes", _NODES), _read(folder, "edges", _EDGES)
    operators, codes = nodes["op"]
    pointers = [_pointers(folder / f"{n}.parquet", t["graph"], graphs) for n, t in (("nodes", nodes), ("edges", edges))]
    tables = Tables(
        operators,
        codes,
        *(np.column_stack([nodes[name] for name in columns]) for columns in (IN, OUT, WINDOW)),
        pointers[0],
        np.column_stack([edges["source"], edges["target"]]),
        pointers[1],
        family,
        {name.removesuffix(_SUFFIX): np.asarray(labels[name], dtype=np.float64) for name in devices},
    )
    _check_edges(folder / "edges.parquet", tables)
    return tables


def source_digest(folder: Path) -> str:
    """SHA-256 over the three files."""
    total = hashlib.sha256()
    for name in FILES:
        with (folder / f"{name}.parquet").open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def _read(folder: Path, name: str, needed: Sequence[str]) -> dict:
    """The needed columns (of the labels all) as arrays; `op` as (names, int16 codes)."""
    import pyarrow as pa
    from pyarrow import parquet

    path = folder / f"{name}.parquet"
    try:
        present = parquet.read_schema(path).names
        if absent := [column for column in needed if column not in present]:
            raise InputError(f"{path} has no column {', '.join(absent)}, it has {', '.join(present)}")
        table = parquet.read_table(path, columns=None if name == "labels" else list(needed))
    except FileNotFoundError:
        raise NotPulledError(f"{path} is missing; name the folder that holds nn-Meter's {', '.join(FILES)}") from None
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a readable Parquet file ({' '.join(str(error).split())[:200]})") from None
    if empty := [column for column in needed if table[column].null_count]:
        raise InputError(f"{path}: column {empty[0]} has empty cells; get the file again")
    columns = {}
    for column in table.column_names:
        values = table[column].combine_chunks()
        if column == "op":
            encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
            names = tuple(encoded.dictionary.to_pylist())
            columns[column] = (names, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int16))
        else:
            columns[column] = values.to_numpy(zero_copy_only=False)
    return columns


def _pointers(path: Path, graph: np.ndarray, graphs: int) -> np.ndarray:
    if len(graph) and (np.any(np.diff(graph) < 0) or graph[0] < 0 or graph[-1] >= graphs):
        raise InputError(f"{path}: the rows of a graph do not follow each other, or a graph has no label row")
    return np.searchsorted(graph, np.arange(graphs + 1)).astype(np.int64)


def _check_edges(path: Path, tables: Tables) -> None:
    size = np.repeat(np.diff(tables.node_ptr), np.diff(tables.edge_ptr))
    source, target = tables.edges.T
    wrong = np.flatnonzero((source < 0) | (source >= target) | (target >= size))
    if len(wrong):
        row = tables.edges[wrong[0]].tolist()
        raise InputError(
            f"{path}, row {wrong[0]}: edge {row[0]} → {row[1]} does not lead forward inside its graph; nodes are expected in order"
        )


def _rows(pointers: np.ndarray, graphs: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    graphs = np.asarray(graphs, dtype=np.int64)
    begins, counts = pointers[graphs], pointers[graphs + 1] - pointers[graphs]
    starts = np.concatenate([[0], np.cumsum(counts)])
    return np.repeat(begins - starts[:-1], counts) + np.arange(starts[-1]), starts
