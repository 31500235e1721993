"""The model a worker holds: built for one sample, kept for the next ones while only the batch changes."""

import contextlib
import ctypes
import dataclasses
import gc
import importlib
import json
import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch

from nnirp.errors import InputError
from nnirp.profiling.monitors import memory
from nnirp.runtimes.interface import Prepared, Runtime, largest_difference, tensors_of


def import_build(location: str) -> Callable[..., Any]:
    """The function that an import string such as `nnirp.catalog:build` names.

    Raises:
        InputError: it cannot be imported.
    """
    module, _, name = location.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"profile.build {location!r} cannot be imported ({error}); check PYTHONPATH") from error


def revive(configuration: Mapping[str, Any], sample: Mapping[str, Any]) -> tuple[Any, Any]:
    """Configuration and sample objects from their JSON form: the catalog's classes where they fit, else plain ones."""
    try:
        from nnirp.catalog import Sample, SourceConfiguration

        return SourceConfiguration(**{**configuration, "samples": ()}), Sample(**sample)
    except (ImportError, TypeError):
        return SimpleNamespace(**configuration, samples=()), SimpleNamespace(**sample)


@dataclasses.dataclass
class Held:
    """A prepared model with the memory it takes, in bytes."""

    key: str
    module: torch.nn.Module | None
    inputs: dict[str, torch.Tensor]
    prepared: Prepared
    model_bytes: int
    basis_bytes: int
    build_s: float
    agreement: float | None = None
    reused: bool = False
    resident_growth_bytes: int = 0

    @property
    def inputs_bytes(self) -> int:
        """Bytes of the inputs in host memory."""
        return sum(t.numel() * t.element_size() for t in self.inputs.values() if t.device.type == "cpu")


class Bench:
    """Holds at most one model.

    Args:
        build: see `ProfileSettings.build`.
        runtime: how models are executed.
        device: where.
        check_outputs: compare the runtime's outputs with eager's.
        before_model: called when the previous model is gone and before the next is built.
    """

    def __init__(
        self,
        build: Callable[..., Any],
        runtime: Runtime,
        device: str,
        check_outputs: bool = True,
        before_model: Callable[[], None] = lambda: None,
    ) -> None:
        self.build, self.runtime, self.device = build, runtime, device
        self.check_outputs, self.before_model = check_outputs, before_model
        self.held: Held | None = None
        self.imported: set[Any] = set()

    def clear(self) -> None:
        """Drop the model and give its memory back."""
        self.held = None
        memory.settle()

    def hold(self, configuration: Any, sample: Any) -> Held:
        """The model of a sample, prepared; the module of the previous sample where only the batch differs."""
        started = time.perf_counter()
        key = json.dumps(
            [configuration.id, sample.arguments, sample.size, sample.precision, sample.mode],
            sort_keys=True,
            default=str,
        )
        inputs = self._other_batch(key, configuration, sample)
        if inputs is not None:
            held = self.held
            held.inputs, held.reused = inputs, True
            held.prepared = self.runtime.prepare(held.module, inputs, self.device)
            memory.settle()
            held.basis_bytes = memory.resident().anonymous
        else:
            self.clear()
            self.before_model()
            held = self._new(key, configuration, sample)
        held.build_s = time.perf_counter() - started
        self.held = held
        return held

    def _new(self, key: str, configuration: Any, sample: Any) -> Held:
        self._import_what_it_needs(configuration, sample)
        before = memory.resident().anonymous
        built = self.build(configuration, sample, "cpu")
        module = built.module.eval().requires_grad_(False).to(self.device)
        inputs = {name: tensor.to(self.device) for name, tensor in built.inputs.items()}
        del built
        expected = None
        if self.check_outputs and self.runtime.name != "eager":
            with torch.inference_mode():
                expected = [tensor.cpu().clone() for tensor in tensors_of(module(**inputs))]
        prepared = self.runtime.prepare(module, inputs, self.device)
        agreement = None
        if expected is not None:
            agreement = largest_difference(expected, prepared.outputs(prepared.call()))
            del expected
        held = Held(key, module if self.runtime.reuses_module else None, inputs, prepared, 0, 0, 0.0, agreement)
        del module
        memory.settle()
        held.basis_bytes = memory.resident().anonymous
        held.resident_growth_bytes = max(0, held.basis_bytes - before - held.inputs_bytes)
        held.model_bytes = held.resident_growth_bytes if held.module is None else host_bytes(held.module)
        return held

    def _import_what_it_needs(self, configuration: Any, sample: Any) -> None:
        """Build without weights once a configuration, so that imported libraries are not taken for the model's memory."""
        if configuration.id in self.imported:
            return
        with contextlib.suppress(Exception):  # a builder that cannot do without data fails here, having imported
            self.build(configuration, sample, "meta")
        self.imported.add(configuration.id)
        memory.settle()
        gc.freeze()  # a collection between samples need not visit what the libraries keep

    def _other_batch(self, key: str, configuration: Any, sample: Any) -> dict[str, torch.Tensor] | None:
        """Inputs of another batch for the held module, or None where a new model is needed."""
        if self.held is None or self.held.key != key or self.held.module is None:
            return None
        try:
            wanted = self.build(configuration, sample, "meta")
        except Exception:  # a builder that cannot do without data is called for real
            return None
        if shapes(wanted.module) != shapes(self.held.module):
            return None  # a cache or a query of the module has a batch of its own
        return inputs_like(wanted.inputs, self.held.inputs)


def host_bytes(module: torch.nn.Module) -> int:
    """Bytes of the parameters and buffers in host memory; tied or overlapping ones share a storage and count once."""
    storages = {}
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.device.type == "cpu":
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def shapes(module: torch.nn.Module) -> dict[str, torch.Size]:
    """Shapes of a module's parameters and buffers by name."""
    return {name: tensor.shape for name, tensor in (*module.named_parameters(), *module.named_buffers())}


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


def prime(device: str) -> None:
    """Touch what the first model of a process would otherwise pay for: thread pools, kernels, allocator thresholds."""
    memory.saturate_mmap_threshold()
    with torch.inference_mode():
        image = torch.rand(1, 8, 32, 32, device=device)
        network = torch.nn.Sequential(
            torch.nn.Conv2d(8, 8, 3),
            torch.nn.BatchNorm2d(8),
            torch.nn.GELU(),
            torch.nn.Flatten(),
            torch.nn.Linear(7200, 8),
        )
        torch.softmax(network.eval().to(device)(image), -1)
        query = torch.rand(1, 2, 16, 8, device=device)
        torch.nn.functional.scaled_dot_product_attention(query, query, query)
        torch.nn.functional.layer_norm(query, (8,))
    memory.settle()


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent ends, however that happens (prctl(2), PR_SET_PDEATHSIG)."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(1, 9)
    except (OSError, AttributeError):
        return
