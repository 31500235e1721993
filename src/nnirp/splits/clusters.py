"""Clusters of near-identical source configurations, found within each sub-family.

Rule (this project's choice; the published card names clusters but not how they were made): a configuration is the
distribution of its edges over operator bigrams; two configurations of one sub-family belong together when the weighted
Jaccard (Ruzicka) similarity of their distributions reaches the threshold, and clusters are the connected components of
that relation. Single linkage gives the guarantee a split needs: no two configurations at or above the threshold are ever
in different clusters. Names do not enter, so a renamed copy has similarity 1 and lands in its original's cluster.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from nnirp.errors import InputError, NotPulledError
from nnirp.layers.archives import iter_archive
from nnirp.splits.bigrams import BigramTable

THRESHOLD = 0.80
"""Depth variants of one architecture (same block, other repeats) lie above it, other blocks below."""


def similarity(counts: np.ndarray) -> np.ndarray:
    """Ruzicka similarity float64 [n, n] of rows of counts [n, bigrams], each row first normalised to sum 1."""
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.zeros_like(counts, dtype=np.float64), where=total > 0)
    result = np.empty((len(share), len(share)))
    for i, row in enumerate(share):
        common = np.minimum(row, share).sum(axis=1)
        union = np.maximum(row, share).sum(axis=1)
        result[i] = np.divide(common, union, out=np.ones_like(common), where=union > 0)
    return result


def compute_clusters(
    graphs: BigramTable | Mapping[int, Iterable[Mapping[tuple[Any, Any], int]]] | Any,
    sub_families: Mapping[int, str] | None = None,
    families: Mapping[str, str] | None = None,
    *,
    threshold: float = THRESHOLD,
) -> dict[str, Any]:
    """The content of `manifests/clusters.json`.

    graphs: {configuration id: [edge counter of each graph]}, a table with one row per configuration id, or a GraphStore.
    sub_families: {configuration id: sub-family}; families: {sub-family: family}; both read from a store if not given.
    Returns {"clusters": {name: {"sub_family", "cases": [ids]}}, "subfamily_to_family": {...}}; a cluster is named
    `<sub-family>-<smallest id>`, so its name outlives the addition of samples and of later configurations.
    Raises InputError for a configuration without a sub-family or a threshold outside (0, 1].
    """
    if not 0 < threshold <= 1:
        raise InputError(f"cluster threshold {threshold} is outside (0, 1]; set a similarity such as {THRESHOLD}")
    if isinstance(graphs, BigramTable):
        table = graphs
    elif isinstance(graphs, Mapping):
        table = BigramTable.from_counters(graphs)
    else:
        samples = graphs.samples
        table = BigramTable.from_store(graphs).group(samples["configuration"].to_numpy())
        if sub_families is None:
            sub_families = dict(zip(samples["configuration"], samples["sub_family"], strict=True))
        if families is None:
            families = dict(zip(samples["sub_family"], samples["family"], strict=True))
    sub_families, families = sub_families or {}, families or {}
    missing = [row for row in table.rows if row not in sub_families]
    if missing:
        raise InputError(f"configuration {missing[0]} has no sub-family; add it to the catalog and run `nnirp catalog`")

    members: dict[str, list[int]] = {}
    for i, configuration in enumerate(table.rows):
        members.setdefault(sub_families[configuration], []).append(i)
    clusters: dict[str, dict[str, Any]] = {}
    for sub_family in sorted(members):
        rows = np.array(members[sub_family])
        counts = table.counts[rows].toarray()
        counts = counts[:, counts.any(axis=0)]
        # 1e-12: a renamed copy must not fall out of its cluster by a rounding error at threshold 1.
        near = similarity(counts) >= threshold - 1e-12
        _, component = connected_components(sparse.csr_array(near), directed=False)
        for c in np.unique(component):
            cases = sorted(int(table.rows[i]) for i in rows[component == c])
            clusters[f"{sub_family}-{cases[0]}"] = {"sub_family": sub_family, "cases": cases}
    ordered = dict(sorted(clusters.items(), key=lambda item: (item[1]["sub_family"], item[1]["cases"][0])))
    return {"clusters": ordered, "subfamily_to_family": {s: families.get(s, s) for s in sorted(members)}}


def cluster_of(content: Mapping[str, Any]) -> dict[int, str]:
    """{configuration id: cluster name} of a clusters.json content."""
    return {int(case): name for name, cluster in content["clusters"].items() for case in cluster["cases"]}


def onnx_bigrams(content: bytes) -> Counter[tuple[str, str]]:
    """Edges (producer's operator, consumer's operator) of a serialised ONNX graph, its top level. Raises InputError."""
    import onnx

    try:
        graph = onnx.load_model_from_string(content).graph
    except Exception as error:  # protobuf raises its own kinds
        raise InputError(
            f"not an ONNX file ({str(error).splitlines()[0]}); export it again with `nnirp export`"
        ) from None
    producer = {name: node.op_type for node in graph.node for name in node.output if name}
    return Counter((producer[name], node.op_type) for node in graph.node for name in node.input if name in producer)


def graph_bigrams(folder: str | Path, configurations: Iterable[int]) -> dict[int, list[Counter[tuple[str, str]]]]:
    """{configuration id: edge counter of each graph} of `onnx-graphs/`; an id whose exports all failed has no archive."""
    folder = Path(folder)
    found: dict[int, list[Counter[tuple[str, str]]]] = {}
    for configuration in configurations:
        path = folder / f"{configuration}.tar.gz"
        if path.is_file():
            counters = [onnx_bigrams(content) for name, content in iter_archive(path) if name.endswith(".onnx")]
            if counters:
                found[int(configuration)] = counters
    if not found:
        raise NotPulledError(f"{folder} holds no graphs; run `dvc pull {folder}` or `nnirp export`")
    return found


def cluster_configurations(
    catalog: Any, bigrams: Mapping[int, Iterable[Mapping[tuple[str, str], int]]], *, similarity: float = THRESHOLD
) -> dict[str, Any]:
    """`compute_clusters` with the taxonomy of a catalog."""
    sub_families = {c.id: c.sub_family for c in catalog.configurations}
    families = {c.sub_family: c.family for c in catalog.configurations}
    return compute_clusters(bigrams, sub_families, families, threshold=similarity)


def model_type_case_ids(catalog: Any) -> dict[str, list[int]]:
    """The content of `manifests/hf_model_type_case_ids.json`: configuration ids of each transformers model type."""
    found: dict[str, list[int]] = {}
    for configuration in catalog.configurations:
        if configuration.model_type:
            found.setdefault(configuration.model_type, []).append(configuration.id)
    return {model_type: sorted(ids) for model_type, ids in sorted(found.items())}
