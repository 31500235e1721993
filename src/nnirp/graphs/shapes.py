"""Shapes of graphs that come without them: symbolic dimensions pinned, then inferred, at last computed."""

import logging
from collections.abc import Mapping

import onnx
from onnx import shape_inference

from nnirp.errors import InputError
from nnirp.graphs.export import is_static, unresolved

log = logging.getLogger(__name__)


def complete_shapes(model: onnx.ModelProto, batch: int | None = None, dims: Mapping[str, int] | None = None) -> onnx.ModelProto:
    """A copy of a model with pinned inputs and as many static shapes as the tools find.

    Args:
        model: as `read_onnx` returns it; it is not changed.
        batch: size of an input's first dimension where that is not a number.
        dims: sizes of other symbolic dimensions by name.

    Raises:
        InputError: an input has a symbolic dimension that neither argument pins, or shapes contradict each other.
    """
    pinned = onnx.ModelProto()
    pinned.CopyFrom(model)
    weights = {tensor.name for tensor in pinned.graph.initializer}
    known = dict(dims or {})
    for value in pinned.graph.input:
        if value.name not in weights:
            _pin(value, batch, known)
    del pinned.graph.value_info[:]
    for value in pinned.graph.output:
        value.type.tensor_type.ClearField("shape")
    inferred = _infer(pinned)
    for attempt in (_symbolic, _optimised):
        if not unresolved(inferred):
            break
        better = attempt(inferred)
        if better is not None and len(unresolved(better)) <= len(unresolved(inferred)):
            inferred = better
    left = unresolved(inferred)
    if left:
        log.debug("%d tensors keep an unknown shape, first %s", len(left), left[0])
    return inferred


def _pin(value: onnx.ValueInfoProto, batch: int | None, dims: Mapping[str, int]) -> None:
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        return
    if not tensor.HasField("shape"):
        raise InputError(f"input {value.name!r} has no shape at all; export it again with its shape")
    for position, dim in enumerate(tensor.shape.dim):
        if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0:
            continue
        name = dim.dim_param
        if name in dims:
            dim.dim_value = dims[name]
        elif position == 0 and batch is not None:
            dim.dim_value = batch
        elif position == 0:
            raise InputError(f"input {value.name!r} has the symbolic batch dimension {name or '?'!r}: give its size with `--batch 1`")
        else:
            shown = name or f"{value.name}[{position}]"
            raise InputError(f"input {value.name!r} has the symbolic dimension {shown!r}: give its size with `--dim {name or 'NAME'}=SIZE`")


def _infer(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    except Exception as error:
        raise InputError(f"the shapes contradict each other ({' '.join(str(error).split())[:200]}); check the batch and dimensions given") from None


def _symbolic(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """ONNX Runtime's symbolic inference, which follows shape arithmetic that ONNX's own gives up on."""
    try:
        from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

        return SymbolicShapeInference.infer_shapes(model, int_max=2**31 - 1, auto_merge=True, guess_output_rank=False, verbose=0)
    except Exception as error:
        log.debug("symbolic shape inference gave up: %s", error)
        return None


def _optimised(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """A dump of ONNX Runtime's basic optimisation, in which shape arithmetic is computed; needs no weights beyond 2 GiB."""
    import tempfile
    from pathlib import Path

    try:
        import onnxruntime

        with tempfile.TemporaryDirectory() as folder:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
            options.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
            onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            dumped = onnx.load(options.optimized_model_filepath, load_external_data=False)
        return shape_inference.infer_shapes(dumped, data_prop=True)
    except Exception as error:
        log.debug("ONNX Runtime could not optimise the graph: %s", error)
        return None


def symbolic_inputs(model: onnx.ModelProto) -> list[str]:
    """Names of the inputs that are not static."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in weights and not is_static(value.type)]
