"""The Croissant description of a dataset root: its files with their hashes, and the fields of its table of samples.

Croissant is the JSON-LD vocabulary by which dataset search engines and loaders read machine-learning datasets (MLCommons, version 1.0).
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nnirp.layers.sample_index import COLUMNS

LICENCE = "https://creativecommons.org/licenses/by/4.0/"
LAYERS = {
    "onnx-graphs": "weight-free ONNX graphs of one source configuration, one file a sample",
    "profiling": "measured statistics and raw times of one source configuration, one JSON record a sample",
    "pyg-features": "PyTorch Geometric graphs of one source configuration, one zstandard-compressed file a sample",
}
TABLE = "manifests/samples.csv"
DESCRIPTION = (
    "Runtime and memory of neural networks, measured on one device, with the ONNX graph of every sample, its features as a PyTorch Geometric "
    "graph, and a four-level taxonomy (family, sub-family, cluster, source configuration) by which splits of increasing difficulty are drawn."
)


def croissant(root: Path, table: Path, *, name: str, version: str) -> dict[str, Any]:
    """The description as JSON-LD, the same for the same files.

    Args:
        root: dataset root; every archive in it is described with its hash.
        table: the table of samples, where it is not yet in place.
        name: of the dataset.
        version: of the dataset, three numbers.

    Raises:
        ImportError: mlcroissant is not installed.
    """
    import mlcroissant as mlc

    context = mlc.Context()
    kinds = {
        "text": mlc.DataType.TEXT,
        "integer": mlc.DataType.INTEGER,
        "number": mlc.DataType.FLOAT,
        "boolean": mlc.DataType.BOOL,
    }

    def file(identifier: str, path: Path, kind: str, description: str) -> Any:
        return mlc.FileObject(
            ctx=context,
            id=identifier,
            name=identifier,
            description=description,
            content_url=identifier,
            content_size=f"{path.stat().st_size} B",
            encoding_formats=[kind],
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        )

    archives = [file(identifier, path, "application/gzip", text) for identifier, path, text in _archives(Path(root))]
    fields = [
        mlc.Field(
            ctx=context,
            id=f"samples/{column}",
            name=column,
            description=description,
            data_types=[kinds[kind]],
            source=mlc.Source(ctx=context, file_object=TABLE, extract=mlc.Extract(ctx=context, column=column)),
        )
        for column, (kind, description) in COLUMNS.items()
    ]
    metadata = mlc.Metadata(
        ctx=context,
        name=name,
        description=DESCRIPTION,
        license=[LICENCE],
        version=version,
        conforms_to=["http://mlcommons.org/croissant/1.0"],
        keywords=["performance modelling", "latency prediction", "ONNX", "graph neural networks"],
        distribution=[file(TABLE, Path(table), "text/csv", "one row a sample"), *archives],
        record_sets=[
            mlc.RecordSet(ctx=context, id="samples", name="samples", description="One row a sample.", fields=fields)
        ],
    )
    return json.loads(json.dumps(metadata.to_json(), default=str))


def _archives(root: Path) -> Iterator[tuple[str, Path, str]]:
    for layer, description in LAYERS.items():
        for path in sorted((root / layer).glob("*.tar.gz"), key=lambda p: (len(p.name), p.name)):
            yield f"{layer}/{path.name}", path, f"{path.name.removesuffix('.tar.gz')}: {description}"
