"""A torch module as a weight-free graph: it is copied without its weights, so that its size does not matter."""

import copy
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nnirp.errors import InputError, NnirpError
from nnirp.graphs.export import export_graph
from nnirp.graphs.frontends.reading import Asked, ReadModel


def read_module(module: nn.Module, asked: Asked) -> ReadModel:
    """Export a module; it is neither run nor changed.

    Args:
        module: any, on any device.
        asked: `inputs` is a tensor, a sequence of tensors or a mapping of names to tensors, as the module takes them; their
            contents do not matter. `batch` replaces the size of every first dimension that equals the first input's.

    Raises:
        InputError: inputs are missing or are no tensors.
        NnirpError: the exporter fails, for example where sizes depend on values.
    """
    inputs = named_inputs(module, asked.inputs)
    if asked.batch is not None:
        inputs = with_batch(inputs, asked.batch)
    light = without_weights(module).eval().requires_grad_(False)
    on_meta = {name: torch.empty_like(value, device="meta") for name, value in inputs.items()}
    try:
        graph = export_graph(light, on_meta)
    except NnirpError as error:
        raise NnirpError(
            f"{type(module).__name__} cannot be traced without its weights ({error}); export it by torch.onnx.export and ask about the file"
        ) from error
    return ReadModel(type(module).__name__, graph, "torch")


def named_inputs(module: nn.Module, inputs: Any) -> dict[str, Tensor]:
    """Inputs by the names of `forward`'s parameters."""
    name = type(module).__name__
    if inputs is None:
        raise InputError(f"{name} needs inputs, for example nnirp.predict(model, inputs=torch.empty(1, 3, 224, 224))")
    if isinstance(inputs, Mapping):
        named = dict(inputs)
    else:
        given = list(inputs) if isinstance(inputs, Sequence) else [inputs]
        parameters = [
            p.name
            for p in inspect.signature(module.forward).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        if len(given) > len(parameters):
            raise InputError(f"{name}.forward takes {len(parameters)} inputs by position, {len(given)} were given")
        named = dict(zip(parameters, given, strict=False))
    wrong = [key for key, value in named.items() if not isinstance(value, Tensor)]
    if wrong or not named:
        raise InputError(
            f"{name}: input {wrong[0] if wrong else '(none)'!r} is no tensor; expected tensors, by name or in order"
        )
    return named


def with_batch(inputs: dict[str, Tensor], batch: int) -> dict[str, Tensor]:
    """Inputs of another batch, without content; those whose first dimension is not the batch stay."""
    known = next((value.shape[0] for value in inputs.values() if value.ndim), None)
    return {
        name: torch.empty(batch, *value.shape[1:], dtype=value.dtype, device="meta")
        if value.ndim and value.shape[0] == known
        else value
        for name, value in inputs.items()
    }


def without_weights(module: nn.Module) -> nn.Module:
    """A copy on the meta device; nothing is allocated, and tied weights stay tied."""
    memo: dict[int, Any] = {}
    for tensor in [*module.parameters(), *module.buffers()]:
        if id(tensor) in memo:
            continue
        empty = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
        memo[id(tensor)] = nn.Parameter(empty, requires_grad=False) if isinstance(tensor, nn.Parameter) else empty
    return copy.deepcopy(module, memo).to("meta")
