"""Modules and inputs compared and adapted, so that one set of weights serves every batch."""

from collections.abc import Mapping
from typing import Any

import torch

PLAIN = (int, float, str, bool, tuple, type(None))


def same_network(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Whether two modules have the same submodules by type and plain settings, and tensors of the same shapes.

    A module whose settings depend on the batch, or that holds a cache for one, is not the same for another batch.
    """
    return _outline(one) == _outline(other)


def _outline(module: torch.nn.Module) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, part in module.named_modules():
        settings = {key: value for key, value in vars(part).items() if key[0] != "_" and isinstance(value, PLAIN)}
        found[name] = (type(part), settings)
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        found[f"{name} shape"] = tuple(tensor.shape)
    return found


def inputs_like(wanted: Mapping[str, torch.Tensor], held: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor] | None:
    """Repeat or cut tensors cyclically along the dimensions in which their shapes differ.

    Values stay in their range (token numbers, masks), which drawing new ones would not ensure.

    Args:
        wanted: tensors with the shapes and types to reach; their values are not read.
        held: tensors of the same names with values.

    Returns:
        New tensors, or None where names, ranks or types differ.
    """
    if set(wanted) != set(held):
        return None
    found = {}
    for name, target in wanted.items():
        tensor = held[name]
        if tensor.dim() != target.dim() or tensor.dtype != target.dtype or (0 in tensor.shape and target.numel()):
            return None
        for dimension, size in enumerate(target.shape):
            if tensor.shape[dimension] != size:
                index = torch.arange(size, device=tensor.device) % tensor.shape[dimension]
                tensor = tensor.index_select(dimension, index)
        found[name] = tensor.contiguous()
    return found
