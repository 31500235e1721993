"""The packed store: all graphs of a dataset in a few memory-mapped arrays, batches cut by index arithmetic."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from nnirp.errors import InputError
from nnirp.layers.store_writer import ARRAYS, COLUMNS, SCHEMA, StoreWriter, graph_arrays, log_memory, pointers

__all__ = ["COLUMNS", "SCHEMA", "GraphBatch", "GraphSet", "GraphStore", "StoreWriter", "log_memory", "pack"]

# `batch` and `size` mean something else on a PyTorch Geometric graph
_METADATA = {"batch": "input_batch", "size": "input_size"}


@dataclass
class GraphBatch:
    """Several graphs as one: node rows follow each other, `graph` says whose they are.

    `x` float32 [N, 14], `op` int64 [N], `edge_index` int64 [2, E] (numbered within the batch), `edge_attr` float32
    [E, 18], `graph` int64 [N], `u` float32 [G, 5], `y` float32 [G, T] (NaN = missing), `memory` float32 [G, 4],
    `index` int64 [G]: the position of each graph in the set it was drawn from.
    """

    x: Tensor
    op: Tensor
    edge_index: Tensor
    edge_attr: Tensor
    graph: Tensor
    u: Tensor
    y: Tensor
    memory: Tensor
    num_graphs: int
    index: Tensor

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "GraphBatch":
        """The same batch on another device."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        moved = {k: v.to(device, non_blocking=non_blocking) for k, v in values.items() if isinstance(v, Tensor)}
        return replace(self, **moved)


@dataclass(frozen=True, eq=False)
class GraphStore:
    """Packed arrays of G graphs with ΣN nodes and ΣE edges.

    `x` float32 [ΣN, 14], `op` int16 [ΣN], `edges` int32 [ΣE, 2] (numbered within their graph), `edge_attr` float32
    [ΣE, 18], `u` float32 [G, 5], `y` float32 [G, T] in log2 (NaN = missing), `memory` float32 [G, 4] as
    log2(1 + bytes) of weights, peak live activations, inputs + outputs, largest tensor; `node_ptr` and `edge_ptr`
    int64 [G + 1]; `samples` one row a graph; `targets` the T names of `y`'s columns.
    """

    x: np.ndarray
    op: np.ndarray
    edges: np.ndarray
    edge_attr: np.ndarray
    u: np.ndarray
    y: np.ndarray
    memory: np.ndarray
    node_ptr: np.ndarray
    edge_ptr: np.ndarray
    samples: pd.DataFrame
    targets: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def __repr__(self) -> str:
        return f"GraphStore({len(self)} graphs, {len(self.x)} nodes, {len(self.edges)} edges, targets={self.targets})"

    @property
    def edge_index(self) -> np.ndarray:
        """int32 [2, ΣE]: producer and consumer of each edge, numbered within their graph."""
        return self.edges.T

    @cached_property
    def nodes(self) -> np.ndarray:
        """int64 [G]: the number of nodes of each graph."""
        return np.diff(self.node_ptr)

    def graph(self, i: int) -> "torch_geometric.data.Data":  # noqa: F821
        """One graph as a PyTorch Geometric `Data` with the published fields, `memory` and the metadata of its sample.

        The columns `batch` and `size` are named `input_batch` and `input_size`, as PyG gives these names another meaning.
        """
        from torch_geometric.data import Data

        i = range(len(self))[i]
        nodes = slice(*self.node_ptr[i : i + 2])
        edges = slice(*self.edge_ptr[i : i + 2])
        data = Data(
            x=_tensor(self.x[nodes]),
            op_type_id=_tensor(self.op[nodes]).long(),
            edge_index=_tensor(self.edges[edges]).long().t().contiguous(),
            edge_attr=_tensor(self.edge_attr[edges]),
            u=_tensor(self.u[i : i + 1]),
            y=_tensor(self.y[i : i + 1]),
            memory=_tensor(self.memory[i : i + 1]),
        )
        for name, value in self.samples.iloc[i].items():
            data[_METADATA.get(name, name)] = value.item() if isinstance(value, np.generic) else value
        return data

    def batch(self, indices: Sequence[int] | np.ndarray | Tensor) -> GraphBatch:
        """Graphs by position, in the order given; time grows with the nodes drawn, not with the number of graphs."""
        indices = np.asarray(indices, dtype=np.int64).reshape(-1)
        if len(indices) and not (indices.min() >= 0 and indices.max() < len(self)):
            raise IndexError(f"graph positions must lie in 0..{len(self) - 1}, got {indices.min()}..{indices.max()}")
        rows, counts, starts = _rows(self.node_ptr, indices)
        edge_rows, edge_counts, _ = _rows(self.edge_ptr, indices)
        edges = _take(self.edges, edge_rows).astype(np.int64)
        edges += np.repeat(starts, edge_counts)[:, None]
        return GraphBatch(
            x=_tensor(_take(self.x, rows)),
            op=_tensor(_take(self.op, rows)).long(),
            edge_index=_tensor(np.ascontiguousarray(edges.T)),
            edge_attr=_tensor(_take(self.edge_attr, edge_rows)),
            graph=_tensor(np.repeat(np.arange(len(indices)), counts)),
            u=_tensor(self.u[indices]),
            y=_tensor(self.y[indices]),
            memory=_tensor(self.memory[indices]),
            num_graphs=len(indices),
            index=torch.from_numpy(indices.copy()),
        )

    def subset(self, indices: Sequence[int] | np.ndarray) -> "GraphSet":
        """The graphs at these positions as a set with the same reading interface."""
        return GraphSet(self, np.asarray(indices, dtype=np.int64).reshape(-1))

    def all(self) -> "GraphSet":
        """Every graph of the store, in its order."""
        return self.subset(np.arange(len(self)))

    def save(self, folder: Path) -> None:
        """Write the arrays and tables into `folder`, which appears complete or not at all."""
        with StoreWriter(folder, self.targets) as writer:
            for name in ("x", "op", "edges", "edge_attr", "u", "y", "memory"):
                writer.append(name, getattr(self, name))
            writer.node_counts.extend(np.diff(self.node_ptr).tolist())
            writer.edge_counts.extend(np.diff(self.edge_ptr).tolist())
            writer.finish(self.samples)

    @classmethod
    def open(cls, folder: Path) -> "GraphStore":
        """Map a folder written by `save` or `StoreWriter`; nothing is read until it is used.

        Raises:
            InputError: the folder is no store, is of another schema, or a file has another size than recorded.
        """
        folder = Path(folder)
        try:
            content = json.loads((folder / "store.json").read_text(encoding="utf-8"))
            if content["schema"] != SCHEMA:
                raise ValueError(f"schema {content['schema']}, expected {SCHEMA}")
            arrays = {
                name: _map(folder / f"{name}.bin", kind, content["shapes"][name]) for name, (kind, _) in ARRAYS.items()
            }
            samples = pd.read_parquet(folder / "samples.parquet")
            return cls(**arrays, samples=samples, targets=tuple(content["targets"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{folder} is not a readable store ({' '.join(str(error).split())}); delete it, it is built again"
            ) from None

    @classmethod
    def from_graphs(
        cls,
        graphs: Iterable["torch_geometric.data.Data"],  # noqa: F821
        samples: pd.DataFrame,
        targets: Sequence[str],
        memory: np.ndarray | None = None,
    ) -> "GraphStore":
        """Build a store in memory.

        Args:
            graphs: PyTorch Geometric graphs with the published fields; a missing `y` is missing labels.
            samples: one row a graph, the columns of `COLUMNS`.
            targets: the T names of `y`'s columns.
            memory: float [G, 4] in bytes (weights, peak activations, inputs + outputs, largest tensor), NaN where unknown.
        """
        parts: dict[str, list[np.ndarray]] = {name: [] for name in ("x", "op", "edges", "edge_attr", "u", "y")}
        for data in graphs:
            for name, value in graph_arrays(data, len(targets)).items():
                parts[name].append(value)
        joined = {
            name: np.concatenate(values) if values else _empty(name, len(targets)) for name, values in parts.items()
        }
        return cls(
            **joined,
            memory=log_memory(memory, len(parts["u"])),
            node_ptr=pointers([len(v) for v in parts["x"]]),
            edge_ptr=pointers([len(v) for v in parts["edges"]]),
            samples=samples.reset_index(drop=True),
            targets=tuple(targets),
        )


@dataclass(frozen=True, eq=False)
class GraphSet:
    """Some graphs of a store, by position; what predictors fit and predict on."""

    store: GraphStore
    indices: np.ndarray

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"GraphSet({len(self)} of {self.store!r})"

    def __getitem__(self, i: int) -> "torch_geometric.data.Data":  # noqa: F821
        return self.store.graph(int(self.indices[i]))

    def __iter__(self) -> Iterator["torch_geometric.data.Data"]:  # noqa: F821
        return (self[i] for i in range(len(self)))

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row a graph of this set, in its order, numbered from 0."""
        return self.store.samples.iloc[self.indices].reset_index(drop=True)

    @property
    def targets(self) -> tuple[str, ...]:
        return self.store.targets

    @cached_property
    def y(self) -> np.ndarray:
        """float32 [n, T], log2, NaN where missing."""
        return self.store.y[self.indices]

    @cached_property
    def u(self) -> np.ndarray:
        """float32 [n, 5]."""
        return self.store.u[self.indices]

    @cached_property
    def memory(self) -> np.ndarray:
        """float32 [n, 4], log2(1 + bytes), NaN where unknown."""
        return self.store.memory[self.indices]

    @cached_property
    def nodes(self) -> np.ndarray:
        """int64 [n]: the number of nodes of each graph."""
        return self.store.nodes[self.indices]

    def subset(self, positions: Sequence[int] | np.ndarray) -> "GraphSet":
        """Graphs at these positions of this set."""
        return GraphSet(self.store, self.indices[np.asarray(positions, dtype=np.int64).reshape(-1)])

    def select(self, mask: np.ndarray) -> "GraphSet":
        """Graphs where a boolean mask [n] is true."""
        mask = np.asarray(mask)
        if mask.dtype != bool or mask.shape != (len(self),):
            raise ValueError(f"a mask must be boolean of shape ({len(self)},), got {mask.dtype} {mask.shape}")
        return GraphSet(self.store, self.indices[mask])

    def relabel(self, y: np.ndarray, targets: Sequence[str] | None = None) -> "GraphSet":
        """The same graphs with other labels: float [n, T] in log2, NaN where missing."""
        names = tuple(self.targets if targets is None else targets)
        y = np.asarray(y, dtype=np.float32)
        if y.shape != (len(self), len(names)):
            raise ValueError(f"labels must have the shape ({len(self)}, {len(names)}), got {y.shape}")
        if len(np.unique(self.indices)) != len(self):
            raise ValueError("a set that holds a graph twice cannot be relabelled")
        labels = np.full((len(self.store), len(names)), np.nan, dtype=np.float32)
        labels[self.indices] = y
        return GraphSet(replace(self.store, y=labels, targets=names), self.indices)

    def batch(self, positions: Sequence[int] | np.ndarray | Tensor) -> GraphBatch:
        """Graphs at these positions of this set as one batch."""
        positions = np.asarray(positions, dtype=np.int64).reshape(-1)
        return replace(self.store.batch(self.indices[positions]), index=torch.from_numpy(positions.copy()))

    def batches(
        self, max_nodes: int, shuffle: bool = False, generator: torch.Generator | None = None
    ) -> Iterator[GraphBatch]:
        """Batches of at most `max_nodes` nodes that cover the set once; a larger graph comes alone.

        Args:
            max_nodes: bound on the nodes of a batch.
            shuffle: in random order; otherwise in the order of the set.
            generator: source of the order, for a run that can be repeated.
        """
        if max_nodes < 1:
            raise ValueError(f"max_nodes must be at least 1, got {max_nodes}")
        order = torch.randperm(len(self), generator=generator).numpy() if shuffle else np.arange(len(self))
        ends = np.cumsum(self.nodes[order])
        start, used = 0, 0
        while start < len(order):
            stop = max(start + 1, int(np.searchsorted(ends, used + max_nodes, side="right")))
            yield self.batch(order[start:stop])
            start, used = stop, int(ends[stop - 1])


def pack(root: Path, *, cache: bool = True) -> GraphStore:
    """The store of a dataset root, built from `pyg-features/` and the manifests; see `nnirp.layers.packing.pack`."""
    from nnirp.layers.packing import pack as build

    return build(root, cache=cache)


def _rows(pointers: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray]:
    """Row numbers of the chosen graphs in a packed array, their counts, and where each begins in the batch."""
    begins = pointers[indices]
    counts = pointers[indices + 1] - begins
    ends = np.cumsum(counts)
    starts = ends - counts
    total = int(ends[-1]) if len(ends) else 0
    if total and np.array_equal(begins[1:], begins[:-1] + counts[:-1]):  # neighbours: one slice
        return slice(int(begins[0]), int(begins[0]) + total), counts, starts
    return np.repeat(begins - starts, counts) + np.arange(total), counts, starts


def _take(array: np.ndarray, rows: np.ndarray | slice) -> np.ndarray:
    return array[rows] if isinstance(rows, slice) else np.take(array, rows, axis=0)


def _tensor(array: np.ndarray) -> Tensor:
    """A tensor that owns its memory: a map is read-only and may not be shared."""
    return torch.from_numpy(np.array(array) if not array.flags.writeable or array.base is not None else array)


def _empty(name: str, targets: int) -> np.ndarray:
    kind, width = ARRAYS[name]
    return np.zeros((0,) if width is None else (0, targets if width == -1 else width), dtype=kind)


def _map(path: Path, kind: str, shape: Sequence[int]) -> np.ndarray:
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    if path.stat().st_size != size:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, expected {size}")
    if not size:
        return np.zeros(tuple(shape), dtype=kind)
    return np.memmap(path, dtype=kind, mode="r", shape=tuple(shape)).view(np.ndarray)
