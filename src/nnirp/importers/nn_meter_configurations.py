"""Which of nn-Meter's graphs form a source configuration: the source has families and graphs, and nothing in between.

Rule (this project's choice): a topology is a graph's operators and wiring without its sizes. A topology is in one configuration,
so that two graphs which differ in widths and kernels alone never stand on both sides of a split by configuration. The
topologies of a family are put in order by their number of nodes, which is their depth, and cut into at most `PER_FAMILY` runs
of about equally many graphs. All graphs of the source take part, also where only some are imported: numbers do not move.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from nnirp.importers.nn_meter_source import Tables

PER_FAMILY = 16
FAMILY_STEP = 100
"""Configurations of the n-th family by name are numbered from n · 100 + 1."""


def configurations(tables: Tables) -> np.ndarray:
    """int64 [G], the number of each graph's source configuration."""
    numbers = np.zeros(len(tables), dtype=np.int64)
    topologies = topology_digests(tables)
    nodes = np.diff(tables.node_ptr)
    for place, family in enumerate(np.unique(tables.family), start=1):
        rows = np.flatnonzero(tables.family == family)
        runs = equal_runs([(int(nodes[row]), topologies[row]) for row in rows], PER_FAMILY)
        numbers[rows] = place * FAMILY_STEP + 1 + np.array(runs)
    return numbers


def topology_digests(tables: Tables) -> list[str]:
    """A digest of each graph's operators and edges; the order of a graph's edges does not enter."""
    by_name = np.argsort(np.argsort(np.array(tables.operators)))  # another file may number the operators differently
    op = by_name[tables.op].astype(np.int16)
    names = "\n".join(sorted(tables.operators)).encode()
    digests = []
    for graph in range(len(tables)):
        edges = tables.edges[tables.edge_ptr[graph] : tables.edge_ptr[graph + 1]]
        total = hashlib.sha256(names)
        total.update(op[tables.node_ptr[graph] : tables.node_ptr[graph + 1]].tobytes())
        total.update(edges[np.lexsort((edges[:, 1], edges[:, 0]))].tobytes())
        digests.append(total.hexdigest()[:24])
    return digests


def equal_runs(keys: Sequence[tuple[int, str]], most: int) -> list[int]:
    """Number of the run of each key: keys in order, equal keys together, at most `most` runs of about one length."""
    counts = sorted(Counter(keys).items())
    before, found = 0, {}
    for key, count in counts:
        found[key] = (2 * before + count) * most // (2 * len(keys))  # where the middle of its graphs lies
        before += count
    dense = {run: number for number, run in enumerate(sorted(set(found.values())))}
    return [dense[found[key]] for key in keys]
