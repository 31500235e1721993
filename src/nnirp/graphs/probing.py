"""Shapes that only ONNX Runtime finds, in a process of its own: a hostile graph may crash it, fill memory or never end."""

import importlib.util
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

from nnirp.graphs.static import is_static, unresolved

log = logging.getLogger(__name__)
MAX_RUN_BYTES = 2**30
"""Largest inputs and weights for which ONNX Runtime is asked to run a graph."""
KEPT_BYTES = 1 << 16
"""Weights beyond this are not handed over: shapes follow from small constants, never from these."""
MEMORY_BYTES = 6 << 30
SECONDS, SECONDS_PER_NODE = 5, 0.004
"""Processor time that the process gets; on a busy machine it may take longer by the clock, up to `WALL_SECONDS`."""
WALL_SECONDS = 90.0
SIZE_FROM_VALUES = frozenset({"NonZero", "NonMaxSuppression", "Unique", "Compress", "StringSplit", "If", "Loop"})
"""Operators whose output sizes may depend on values: a size seen in one run says nothing of another."""


def probe(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """A copy of a model with more static shapes, by symbolic inference and by a run on zeros; None where neither finds one.

    Args:
        model: with static inputs. Its nodes stay as they are.
    """
    light = onnx.ModelProto()
    light.CopyFrom(model)
    for tensor in light.graph.initializer:
        if len(tensor.raw_data) > KEPT_BYTES:
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
    with (
        tempfile.TemporaryDirectory() as folder
    ):  # where it gives up, symbolic inference saves the graph into its folder
        given, found = Path(folder) / "given", Path(folder) / "found"
        given.write_bytes(light.SerializeToString())
        run_apart(given, found)
        if not found.is_file():
            return None
        values = onnx.ModelProto.FromString(found.read_bytes()).graph.value_info
    return _merged(model, values)


def run_apart(given: Path, found: Path) -> None:
    """`main` in a fresh process that may fail in any way."""
    try:
        subprocess.run(
            [sys.executable, "-m", __name__, str(given), str(found)],
            cwd=given.parent,
            env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=WALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        log.debug("no shapes from ONNX Runtime within %.0f s", WALL_SECONDS)


def main(given: Path, found: Path) -> None:
    """What the process does: whatever is found is written at once, so that a later crash does not lose it."""
    import resource

    model = onnx.ModelProto.FromString(given.read_bytes())
    seconds = int(SECONDS + SECONDS_PER_NODE * len(model.graph.node))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    for attempt in (_symbolic, _run):
        left = len(unresolved(model))
        better = attempt(model) if left else None
        if better is not None and len(unresolved(better)) < left:
            model = better
            draft = found.with_suffix(".part")
            draft.write_bytes(_types(model).SerializeToString())
            draft.replace(found)


def _types(model: onnx.ModelProto) -> onnx.ModelProto:
    only = onnx.ModelProto()
    only.graph.value_info.extend(v for v in [*model.graph.value_info, *model.graph.output] if is_static(v.type))
    return only


def _symbolic(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """ONNX Runtime's symbolic inference, which follows shape arithmetic that ONNX's own gives up on."""
    import onnxruntime

    # by its file: the package around it imports torch, which takes longer than everything else here
    file = Path(onnxruntime.__file__).parent / "tools" / "symbolic_shape_infer.py"
    try:
        spec = importlib.util.spec_from_file_location("symbolic_shape_infer", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        found = module.SymbolicShapeInference.infer_shapes(copy, 2**31 - 1, True, False, 0)
    except Exception:  # it asserts and raises wherever it meets what it does not know
        return None
    return found and _merged(model, [*found.graph.value_info, *found.graph.output])


def _run(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """Shapes seen in one run on zeros, of the tensors whose size no operator derives from values."""
    import onnxruntime

    graph = model.graph
    wanted = set(unresolved(model)) - _sized_by_values(graph)
    wanted &= {name for node in graph.node for name in node.output}
    runnable = fill_absent(model) if wanted else None
    if runnable is None:
        return None
    runnable.graph.output.extend(
        onnx.ValueInfoProto(name=name) for name in sorted(wanted - {v.name for v in graph.output})
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    names = sorted(wanted)
    try:
        session = onnxruntime.InferenceSession(
            runnable.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        results = session.run(names, {value.name: _zeros(value) for value in session.get_inputs()})
        found = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, results, strict=True)
            if isinstance(array, np.ndarray) and array.dtype != object
        ]
        return shape_inference.infer_shapes(_merged(model, found), data_prop=True)
    except Exception:  # a graph that cannot run has no shapes to see
        return None


def fill_absent(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """A copy with zeros for weights that are not there; None where weights or inputs are larger than `MAX_RUN_BYTES`."""
    absent = [t for t in model.graph.initializer if t.data_location == TensorProto.EXTERNAL]
    sizes = [np.prod(t.dims, dtype=np.float64) * 8 for t in absent]
    sizes += [
        np.prod([d.dim_value for d in v.type.tensor_type.shape.dim], dtype=np.float64) * 8 for v in model.graph.input
    ]
    if sum(sizes) > MAX_RUN_BYTES:
        log.debug("too large to run for its shapes: %.1f GB", sum(sizes) / 1e9)
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            kind = helper.tensor_dtype_to_np_dtype(tensor.data_type)
            tensor.CopyFrom(numpy_helper.from_array(np.zeros(tuple(tensor.dims), kind), tensor.name))
    return copy


def _zeros(value) -> np.ndarray:
    name = value.type.removeprefix("tensor(").removesuffix(")")
    kinds = {"float": "float32", "double": "float64"}
    return np.zeros([int(size) for size in value.shape], kinds.get(name, name))


def _sized_by_values(graph: onnx.GraphProto) -> set[str]:
    """Tensors computed from one whose size depends on values."""
    found: set[str] = set()
    for node in graph.node:
        if node.op_type in SIZE_FROM_VALUES or any(name in found for name in node.input):
            found.update(node.output)
    return found


def _merged(model: onnx.ModelProto, values: Iterable[onnx.ValueInfoProto]) -> onnx.ModelProto:
    """A copy in which tensors without a static shape get the one that was found for them; the nodes stay as they are."""
    merged = onnx.ModelProto()
    merged.CopyFrom(model)
    graph = merged.graph
    found = {value.name: value for value in values if is_static(value.type)}
    for value in graph.output:
        if value.name in found and not is_static(value.type):
            value.CopyFrom(found[value.name])
    outputs = {value.name for value in graph.output}
    kept = [value for value in graph.value_info if value.name not in found or is_static(value.type)]
    have = {value.name for value in kept} | outputs
    del graph.value_info[:]
    graph.value_info.extend(kept)
    graph.value_info.extend(value for name, value in found.items() if name not in have)
    return merged


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
