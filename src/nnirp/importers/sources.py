"""What a row of somebody's table names, an ONNX file or a model, as a graph without weights and of static shapes."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from onnx import TensorProto

from nnirp.errors import InputError, NnirpError

WEIGHT_ELEMENTS = 1024
"""Floating-point initialisers above this are weights; shape arithmetic, indices and scales are below."""
CONSTANT_BYTES = 1 << 20
"""Larger graphs hold tables that were computed at export; they lose them where no feature depends on their values."""
PARAMETER_TOLERANCE = 0.01


@dataclass(frozen=True)
class Source:
    """One graph to make.

    `name` is a path (onnx), a model of timm with its tag (timm), or a source configuration of the catalog (catalog).
    `size` is pixels a side, tokens, or None for what the model is made for; `parameters` in millions, where a table says
    how many the measured model had.
    """

    kind: Literal["onnx", "timm", "catalog"]
    name: str
    batch: int | None
    size: int | None = None
    parameters: float | None = None


@dataclass(frozen=True)
class MadeGraph:
    """A serialised graph with its nodes, batch, and floating-point operations (1 multiply-accumulate = 2)."""

    content: bytes
    nodes: int
    batch: int
    flops: float


def make_graph(source: Source) -> MadeGraph:
    """Read or build a model, and give its graph without weights.

    Raises:
        InputError: there is no such file or model, a dimension stays open, or the model is not the one that was measured.
        NnirpError: the export fails.
    """
    from nnirp.features import encode

    model = _from_file(source) if source.kind == "onnx" else _built(source)
    size = model.ByteSize()
    if source.kind == "onnx" or size > CONSTANT_BYTES:
        model = without_weights(model, 0 if size > CONSTANT_BYTES and source.kind != "onnx" else WEIGHT_ELEMENTS)
    batch = source.batch or first_dimension(model)
    flops = encode(model, batch=batch).total_flops  # a graph that cannot be encoded is refused here, by its name
    return MadeGraph(model.SerializeToString(deterministic=True), len(model.graph.node), batch, flops)


def without_weights(model: onnx.ModelProto, elements: int = WEIGHT_ELEMENTS) -> onnx.ModelProto:
    """A copy whose large floating-point initialisers have type and shape but no value; no feature may depend on them.

    Raises:
        NnirpError: a feature changes with the values, which an encoder that reads shapes and types does not do.
    """
    from nnirp.graphs.export import WEIGHTS_FILE

    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for tensor in bare.graph.initializer:
        count = math.prod(tensor.dims)
        if count > elements and tensor.data_type in _FLOATING and tensor.data_location != TensorProto.EXTERNAL:
            fresh = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
            fresh.data_location = TensorProto.EXTERNAL
            fresh.external_data.add(key="location", value=WEIGHTS_FILE)
            fresh.external_data.add(key="length", value=str(count * _FLOATING[tensor.data_type]))
            tensor.CopyFrom(fresh)
    if not _same_features(model, bare):
        raise NnirpError("the graph's features depend on the values of its weights; nothing was dropped")
    return bare


_FLOATING = {
    TensorProto.FLOAT: 4,
    TensorProto.DOUBLE: 8,
    TensorProto.FLOAT16: 2,
    TensorProto.BFLOAT16: 2,
}


def first_dimension(model: onnx.ModelProto) -> int:
    """The first dimension of the first input that has one, which is the batch of a network."""
    weights = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name not in weights and dims:
            return max(dims[0].dim_value, 1)
    return 1


def _same_features(one: onnx.ModelProto, other: onnx.ModelProto) -> bool:
    from nnirp.features import encode

    a, b = encode(one), encode(other)
    return all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in ("x", "op", "edge_index", "edge_attr", "u")
    )


def _from_file(source: Source) -> onnx.ModelProto:
    from nnirp.graphs.reading import read_onnx
    from nnirp.graphs.shapes import complete_shapes, symbolic_inputs
    from nnirp.graphs.static import unresolved

    model = read_onnx(Path(source.name))
    fixed = not symbolic_inputs(model)
    if not fixed or unresolved(model):
        model = complete_shapes(model, source.batch)
    if fixed and source.batch is not None and first_dimension(model) != source.batch:
        raise InputError(
            f"{source.name} fixes its batch at {first_dimension(model)}, the table says {source.batch}; "
            "export the file with a symbolic batch"
        )
    return model


def _built(source: Source) -> onnx.ModelProto:
    from nnirp.catalog import build
    from nnirp.graphs.export import export_graph
    from nnirp.importers.timm_models import spelled_out_attention

    configuration, sample = _timm(source) if source.kind == "timm" else _catalog(source)
    built = build(configuration, sample, "meta")
    _check_parameters(source, built.module)
    try:
        return export_graph(built.module, built.inputs)
    except NnirpError:
        if source.kind != "timm":
            raise
    # The exporter takes fused attention of four dimensions only; timm spells it out as products and a softmax if asked to.
    with spelled_out_attention():
        built = build(configuration, sample, "meta")
    return export_graph(built.module, built.inputs)


def _check_parameters(source: Source, module: Any) -> None:
    if source.parameters is not None:
        found = sum(p.numel() for p in module.parameters()) / 1e6
        if abs(found - source.parameters) > max(PARAMETER_TOLERANCE * source.parameters, 0.0051):  # rounded to 0.01
            raise InputError(
                f"{source.name} has {found:.2f} M parameters in the installed timm, {source.parameters:g} M in the table: "
                "another version of the model was measured"
            )


def _timm(source: Source) -> tuple[Any, Any]:
    from nnirp.catalog import Sample, SourceConfiguration
    from nnirp.importers.timm_models import arguments, default_size

    size = source.size or default_size(source.name)
    sample = Sample(source.name, 1, source.batch or 1, size, "im", "fp32", "forward")
    # The builder is registered with the convolutional ones; it takes every model of timm.
    configuration = SourceConfiguration(
        id=1,
        name=source.name,
        family="convolutional",
        sub_family="standard_convolution_network",
        builder="timm_classifier",
        arguments=arguments(source.name, size),
        library="timm",
        model_type=None,
        parametric=False,
        samples=(sample,),
    )
    return configuration, sample


def _catalog(source: Source) -> tuple[Any, Any]:
    from dataclasses import replace

    configuration = catalog_configuration(source.name)
    if configuration is None:
        raise InputError(f"the catalog has no configuration {source.name!r}; list them with `nnirp catalog`")
    sample = configuration.samples[0]
    return configuration, replace(
        sample, batch=source.batch or sample.batch, size=source.size or sample.size, precision="fp32"
    )


def catalog_configuration(name: str) -> Any | None:
    """The source configuration of the full catalog that has this name and nothing swept, or None."""
    from nnirp.catalog import load_catalog

    found = (c for c in load_catalog("full").configurations if c.name == name and not c.parametric)
    return next(found, None)
