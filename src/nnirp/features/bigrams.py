"""Operator bigrams of exported graphs: ordered pairs (producer, consumer), one count an edge."""

from collections import Counter
from pathlib import Path

import numpy as np

from nnirp.features.encoder import EncodedGraph, encode
from nnirp.features.vocabulary import load_vocabulary
from nnirp.graphs.reading import read_onnx
from nnirp.layers.archives import iter_archive


def graph_bigrams(encoded: EncodedGraph) -> Counter[tuple[str, str]]:
    """Count the bigrams of one encoded graph by operator name."""
    names = load_vocabulary().operators
    pairs, counts = np.unique(encoded.op[encoded.edge_index], axis=1, return_counts=True)
    return Counter({(names[a], names[b]): int(n) for a, b, n in zip(*pairs.tolist(), counts.tolist(), strict=True)})


def archive_bigrams(path: Path) -> list[Counter[tuple[str, str]]]:
    """The bigrams of every graph of one `onnx-graphs/<id>.tar.gz`."""
    return [graph_bigrams(encode(read_onnx(content))) for _, content in iter_archive(path)]
