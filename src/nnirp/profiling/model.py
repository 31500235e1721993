"""The models a worker holds: prepared for a sample, with one module for all samples that share its weights."""

import contextlib
import dataclasses
import gc
import importlib
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from nnirp.errors import InputError
from nnirp.profiling.monitors import memory
from nnirp.profiling.weights import inputs_like, same_network
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


@dataclasses.dataclass
class Held:
    """A prepared model with the memory it takes, in bytes, and what making it cost, in seconds.

    `growth_bytes` is what preparing added to the private resident memory, which then came to `basis_bytes`.
    """

    prepared: Prepared
    inputs: dict[str, torch.Tensor]
    parameters: int
    growth_bytes: int
    basis_bytes: int
    convert_ms: float
    build_s: float
    agreement: float | None
    reused: bool
    file: Path | None
    usual_ms: float = 0.0

    @property
    def inputs_bytes(self) -> int:
        """Bytes of the inputs in host memory."""
        return sum(t.numel() * t.element_size() for t in self.inputs.values() if t.device.type == "cpu")

    @property
    def device_inputs_bytes(self) -> int:
        """Bytes of the inputs in the memory of a GPU."""
        return sum(t.numel() * t.element_size() for t in self.inputs.values() if t.device.type != "cpu")


@dataclasses.dataclass
class WeightSet:
    """A module that serves several batches, with the inputs it was built with and how far the runtime is from eager."""

    key: str
    module: torch.nn.Module
    inputs: dict[str, torch.Tensor]
    agreement: float | None = None


class Bench:
    """Holds prepared samples, and the module of the last one, so that the next one need not build its own.

    Args:
        build: see `ProfileSettings.build`.
        runtime: how models are executed.
        device: where.
        check_outputs: compare the runtime's outputs with eager's, once a set of weights.
        before_prepare: called when the module is there and before the runtime prepares it.
    """

    def __init__(
        self,
        build: Callable[..., Any],
        runtime: Runtime,
        device: str,
        check_outputs: bool = True,
        before_prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self.build, self.runtime, self.device = build, runtime, device
        self.check_outputs, self.before_prepare = check_outputs, before_prepare
        self.held: dict[str, Held] = {}
        self.weights: WeightSet | None = None
        self.imported: set[Any] = set()
        self.base_bytes = memory.resident().anonymous

    def release(self, sample: str) -> None:
        """Give back what one sample holds beside the module, and the module where no sample is left."""
        self._forget(sample)
        if not self.held:
            self.weights = None
        memory.settle()

    def drop(self, sample: str) -> None:
        """Drop a sample that failed, and the module it may have left broken."""
        self._forget(sample)
        self.weights = None
        memory.settle()

    def _forget(self, sample: str) -> None:
        held = self.held.pop(sample, None)
        if held is not None and held.file is not None:
            shutil.rmtree(held.file.parent, ignore_errors=True)

    def held_bytes(self) -> int:
        """Private memory taken since the start, bytes."""
        return max(0, memory.resident().anonymous - self.base_bytes)

    def hold(self, configuration: Any, sample: Any) -> Held:
        """Prepare a sample and keep it; the module of the sample before serves it where only the batch differs."""
        started = time.perf_counter()
        self._import_what_it_needs(configuration, sample)
        key = json.dumps(
            [configuration.id, sample.arguments, sample.size, sample.precision, sample.mode],
            sort_keys=True,
            default=str,
        )
        inputs = self._other_batch(key, configuration, sample)
        if reused := inputs is not None:
            weights = self.weights
        else:
            self.weights = None
            weights = self._new_weights(key, configuration, sample)
            inputs = weights.inputs
        expected = None
        if self.check_outputs and self.runtime.name != "eager" and not reused:
            with torch.inference_mode():
                expected = [tensor.cpu().clone() for tensor in tensors_of(weights.module(**inputs))]
        converting = time.perf_counter()
        file = self.runtime.convert(weights.module, inputs) if self.runtime.convert else None
        convert_ms = 1e3 * (time.perf_counter() - converting)
        memory.settle()
        before = memory.resident().anonymous
        self.before_prepare()
        prepared = self.runtime.prepare(weights.module, inputs, self.device, *([file] if file else []))
        memory.settle()
        basis = memory.resident().anonymous
        if expected is not None:
            basis -= sum(tensor.numel() * tensor.element_size() for tensor in expected)
            weights.agreement = largest_difference(expected, prepared.outputs(prepared.call()))
            del expected
        held = Held(
            prepared,
            inputs,
            sum(parameter.numel() for parameter in weights.module.parameters()),
            max(0, basis - before),
            basis,
            convert_ms,
            time.perf_counter() - started,
            weights.agreement,
            reused,
            file,
        )
        self.weights, self.held[sample.name] = weights, held
        return held

    def _new_weights(self, key: str, configuration: Any, sample: Any) -> WeightSet:
        built = self.build(configuration, sample, "cpu")
        module = built.module.eval().requires_grad_(False).to(self.device)
        return WeightSet(key, module, {name: tensor.to(self.device) for name, tensor in built.inputs.items()})

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
        """Inputs of another batch for the held module, or None where a new module is needed."""
        if self.weights is None or self.weights.key != key:
            return None
        try:
            wanted = self.build(configuration, sample, "meta")
        except Exception:  # a builder that cannot do without data is called for real
            return None
        if not same_network(wanted.module.eval(), self.weights.module):
            return None  # a cache or a query of the module has a batch of its own
        return inputs_like(wanted.inputs, self.weights.inputs)


def prime(device: str, runtime: Runtime) -> None:
    """Touch what the first model of a process would otherwise pay for: thread pools, kernels, allocator thresholds, imports."""
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
        network = network.eval().requires_grad_(False).to(device)
        torch.softmax(network(image), -1)
        query = torch.rand(1, 2, 16, 8, device=device)
        torch.nn.functional.scaled_dot_product_attention(query, query, query)
        torch.nn.functional.layer_norm(query, (8,))
    if runtime.packages:  # its memory is known by growth alone, and imports are no part of a model
        runtime.prepare(network, {"input": image}, device).call()
    memory.settle()
