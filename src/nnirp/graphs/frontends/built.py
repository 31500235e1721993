"""A model that is built from its name, by the catalog's builders, as a weight-free graph."""

from typing import Any

import onnx

from nnirp.catalog import SourceConfiguration, build
from nnirp.catalog.configurations import Sample
from nnirp.graphs.export import export_graph


def build_graph(
    builder: str, family: str, arguments: dict[str, Any], *, library: str, batch: int, size: int, mode: str, name: str
) -> onnx.ModelProto:
    """Build on the meta device and export.

    Args:
        builder, family: of the catalog.
        arguments: of the builder.
        batch, size, mode: of the sample.
        name: for messages.
    """
    sample = Sample(name, 0, batch, size, "", "fp32", mode)
    configuration = SourceConfiguration(0, name, family, "", builder, arguments, library, None, False, (sample,))
    built = build(configuration, sample, "meta")
    return export_graph(built.module, built.inputs)
