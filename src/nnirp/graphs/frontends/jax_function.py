"""A function that JAX can trace, by jax2onnx."""

from collections.abc import Callable, Sequence
from typing import Any

from nnirp.errors import InputError, NnirpError
from nnirp.graphs.frontends.reading import Asked, ReadModel, need
from nnirp.graphs.reading import read_onnx


def read_function(function: Callable[..., Any], asked: Asked) -> ReadModel:
    """Trace a function.

    Args:
        function: of arrays; parameters that it closes over are its weights.
        asked: `inputs` are arrays or `jax.ShapeDtypeStruct`s in order; `batch` replaces the size of every first dimension that equals
            the first input's.

    Raises:
        InputError: inputs are missing or no arrays.
        NnirpError: jax2onnx cannot express it.
    """
    name = getattr(function, "__name__", type(function).__name__)
    jax, jax2onnx = need("jax jax2onnx", "jax", f"the function {name}")
    if asked.inputs is None:
        raise InputError(
            f"{name} needs inputs, for example nnirp.predict({name}, inputs=[jax.ShapeDtypeStruct((1, 3), 'float32')])"
        )
    given = asked.inputs if isinstance(asked.inputs, Sequence) else [asked.inputs]
    try:
        shapes = [jax.ShapeDtypeStruct(tuple(one.shape), one.dtype) for one in given]
    except AttributeError:
        raise InputError(f"{name}: an input has no shape; expected arrays or jax.ShapeDtypeStruct") from None
    if asked.batch is not None:
        known = next((s.shape[0] for s in shapes if s.shape), None)
        shapes = [
            jax.ShapeDtypeStruct((asked.batch, *s.shape[1:]), s.dtype) if s.shape and s.shape[0] == known else s
            for s in shapes
        ]
    try:
        graph = jax2onnx.to_onnx(function, inputs=shapes, model_name=name)
    except Exception as error:
        raise NnirpError(f"jax2onnx cannot convert {name}: {' '.join(str(error).split())[:300]}") from None
    return ReadModel(name, read_onnx(graph.SerializeToString()), "jax")
