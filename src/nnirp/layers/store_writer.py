"""Writing the files of a packed store, graph by graph."""

import json
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from nnirp.errors import InputError

X_WIDTH, EDGE_WIDTH, U_WIDTH, MEMORY_WIDTH = 14, 18, 5, 4
SCHEMA = 1
COLUMNS = (
    "sample",
    "configuration",
    "configuration_name",
    "cluster",
    "sub_family",
    "family",
    "batch",
    "size",
    "precision",
    "mode",
    "parametric",
)
# name: (type on disk, width of a row); the edge list is kept one edge a row and shown transposed
ARRAYS: dict[str, tuple[str, int | None]] = {
    "x": ("<f4", X_WIDTH),
    "op": ("<i2", None),
    "edges": ("<i4", 2),
    "edge_attr": ("<f4", EDGE_WIDTH),
    "u": ("<f4", U_WIDTH),
    "y": ("<f4", -1),
    "memory": ("<f4", MEMORY_WIDTH),
    "node_ptr": ("<i8", None),
    "edge_ptr": ("<i8", None),
}


class StoreWriter:
    """Appends graphs to the files of a store, so that a dataset larger than memory can be packed."""

    def __init__(self, folder: Path, targets: Sequence[str]) -> None:
        self.folder, self.targets = Path(folder), tuple(targets)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self._draft = self.folder.with_name(f".{self.folder.name}.{uuid.uuid4().hex[:8]}")
        self.node_counts: list[int] = []
        self.edge_counts: list[int] = []

    def __enter__(self) -> "StoreWriter":
        self._draft.mkdir()
        self._files = {name: (self._draft / f"{name}.bin").open("wb") for name in ARRAYS}
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()
        shutil.rmtree(self._draft, ignore_errors=True)

    def append(self, name: str, rows: np.ndarray) -> None:
        """Append rows to one array."""
        self._files[name].write(np.ascontiguousarray(rows, dtype=ARRAYS[name][0]).data)

    def add(self, data: "torch_geometric.data.Data") -> None:  # noqa: F821
        """Append one graph (all but its memory features)."""
        arrays = graph_arrays(data, len(self.targets))
        for name, rows in arrays.items():
            self.append(name, rows)
        self.node_counts.append(len(arrays["x"]))
        self.edge_counts.append(len(arrays["edges"]))

    def finish(self, samples: pd.DataFrame) -> None:
        """Write the tables and move the store into place; one that another process finished first is kept."""
        self.append("node_ptr", pointers(self.node_counts))
        self.append("edge_ptr", pointers(self.edge_counts))
        graphs = len(self.node_counts)
        rows = {"x": sum(self.node_counts), "edges": sum(self.edge_counts), "node_ptr": graphs + 1}
        rows |= {"op": rows["x"], "edge_attr": rows["edges"], "edge_ptr": graphs + 1}
        width = {None: [], -1: [len(self.targets)]}
        shapes = {n: [rows.get(n, graphs), *width.get(w, [w])] for n, (_, w) in ARRAYS.items()}
        for file in self._files.values():
            file.close()
        samples.reset_index(drop=True).to_parquet(self._draft / "samples.parquet")
        content = {"schema": SCHEMA, "targets": list(self.targets), "shapes": shapes}
        (self._draft / "store.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
        try:
            self._draft.replace(self.folder)
        except OSError:
            if not (self.folder / "store.json").is_file():
                raise


def graph_arrays(data: "torch_geometric.data.Data", targets: int) -> dict[str, np.ndarray]:  # noqa: F821
    """The arrays of one graph in the store's types; a missing `y` becomes NaN, a `y` of another width is refused."""
    y = np.full((1, targets), np.nan, dtype=np.float32) if data.y is None else data.y.numpy().reshape(1, -1)
    if y.shape[1] != targets:
        raise InputError(f"a graph has {y.shape[1]} targets, expected {targets}; encode the whole layer again")
    return {
        "x": data.x.numpy().astype(np.float32, copy=False),
        "op": data.op_type_id.numpy().astype(np.int16),
        "edges": data.edge_index.numpy().T.astype(np.int32),
        "edge_attr": data.edge_attr.numpy().reshape(-1, EDGE_WIDTH).astype(np.float32, copy=False),
        "u": data.u.numpy().reshape(1, U_WIDTH).astype(np.float32, copy=False),
        "y": y.astype(np.float32, copy=False),
    }


def log_memory(memory: np.ndarray | None, graphs: int) -> np.ndarray:
    """float32 [G, 4] log2(1 + bytes) of float [G, 4] bytes; all NaN where `memory` is None."""
    if memory is None:
        return np.full((graphs, MEMORY_WIDTH), np.nan, dtype=np.float32)
    return np.log2(1.0 + np.asarray(memory, dtype=np.float64)).astype(np.float32).reshape(graphs, MEMORY_WIDTH)


def pointers(counts: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
