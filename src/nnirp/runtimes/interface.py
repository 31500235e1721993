"""The interface of a runtime: `prepare(module, inputs, device)` gives a callable that runs one inference."""

import importlib.util
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

import torch


@dataclass(frozen=True)
class Prepared:
    """A model that is ready to run.

    Attributes:
        call: runs one inference and returns its outputs, in the runtime's own form.
        compile_ms: time to trace, load or compile, before the first call; converting too, unless that was done before.
        synchronise: the one rule that says when the work of a call is done: `returned` (the call blocks until then) or
            `cuda_events` (the work is on the current CUDA stream, timed by events and waited for once a call).
        outputs: turns what `call` returned into tensors, in the order of the eager model's outputs.
        settings: what was chosen, for the record.
        allocator: whose allocator holds the memory of activations: `torch` or `runtime`.
        weights_bytes: bytes of the weights in the memory of the device; None where only the growth of the process tells.
        memory_unknown: why the memory of one model cannot be told from the process; empty where it can.
    """

    call: Callable[[], Any]
    compile_ms: float = 0.0
    synchronise: Literal["returned", "cuda_events"] = "returned"
    outputs: Callable[[Any], list[torch.Tensor]] = field(default=lambda result: tensors_of(result))
    settings: Mapping[str, Any] = field(default_factory=dict)
    allocator: Literal["torch", "runtime"] = "torch"
    weights_bytes: int | None = None
    memory_unknown: str = ""


@dataclass(frozen=True)
class Runtime:
    """What a runtime can do.

    Attributes:
        name: as in `params.yaml`.
        devices: kinds of device it runs on: `cpu`, `cuda`.
        packages: modules that must be importable.
        install: the line that installs them.
        lacking: what else is missing here and how to get it, empty where nothing is.
        precisions: precisions it accepts.
        preload: imports what every model needs and starts no thread, so that processes can be forked afterwards.
        prepare: `prepare(module, inputs, device, model=None)` loads `model`, what `convert` made of the module and inputs,
            which it calls itself where none is given; see `Prepared`.
        convert: makes a file that the runtime reads, where it reads files.
    """

    name: str
    devices: tuple[str, ...]
    prepare: Callable[..., Prepared]
    packages: tuple[str, ...] = ()
    install: str = ""
    lacking: Callable[[], str] = lambda: ""
    precisions: tuple[str, ...] = ("fp32", "bf16")
    preload: Callable[[], None] = lambda: None
    convert: Callable[[torch.nn.Module, Mapping[str, torch.Tensor]], Path] | None = None

    def available(self) -> tuple[bool, str]:
        """Whether everything it needs is installed, and otherwise what is not and the line that installs it."""
        missing = [name for name in self.packages if importlib.util.find_spec(name) is None]
        if missing:
            return False, f"{', '.join(missing)} not installed; {self.install}"
        lacking = self.lacking()
        return not lacking, lacking or "installed"


def tensors_of(result: Any) -> list[torch.Tensor]:
    """Every tensor of a nested result, depth first: mappings by order, sequences by index, dataclasses by field."""
    return list(_walk(result))


def _walk(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _walk(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for entry in fields(value):
            yield from _walk(getattr(value, entry.name))


def weights_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Bytes of the storages behind tensors; tied or overlapping tensors share one, which counts once."""
    storages = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def weights_of(module: torch.nn.Module) -> int:
    """Bytes of a module's parameters and buffers."""
    return weights_bytes([*module.parameters(), *module.buffers()])


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Yield a function that says how many milliseconds have passed since the block was entered."""
    started = time.perf_counter_ns()
    yield lambda: (time.perf_counter_ns() - started) / 1e6


def largest_difference(expected: list[torch.Tensor], found: list[torch.Tensor]) -> float:
    """Largest absolute difference over all outputs, relative to each output's largest magnitude.

    Infinite where the number of outputs or a shape differs; positions that are not finite in both are ignored.
    """
    if len(expected) != len(found):
        return float("inf")
    worst = 0.0
    for one, other in zip(expected, found, strict=True):
        if one.shape != other.shape:
            return float("inf")
        if not one.numel():
            continue
        a, b = one.detach().to("cpu", torch.float64), other.detach().to("cpu", torch.float64)
        finite = torch.isfinite(a) & torch.isfinite(b)
        if not finite.any():
            continue
        scale = max(a[finite].abs().max().item(), 1e-12)
        worst = max(worst, (a - b)[finite].abs().max().item() / scale)
    return worst
