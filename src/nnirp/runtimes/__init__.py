"""How a model is executed: one file a runtime behind one interface, listed here and imported when asked for."""

from importlib import import_module
from typing import TYPE_CHECKING

from nnirp.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    from nnirp.runtimes.interface import Runtime

NAMES = ("eager", "torchscript", "inductor", "onnxruntime", "openvino", "tensorrt", "tvm")


def names() -> tuple[str, ...]:
    """Every runtime there is a file for, installed or not."""
    return NAMES


def load(name: str) -> "Runtime":
    """The runtime of that name.

    Raises:
        InputError: there is no such runtime.
    """
    if name not in NAMES:
        raise InputError(
            f"runtime {name!r} is not known; expected one of {', '.join(NAMES)}; `nnirp doctor` lists them"
        )
    return import_module(f"{__name__}.{name}").RUNTIME


def require(name: str, device: str) -> "Runtime":
    """The runtime of that name, installed and able to run on `device` (`cpu`, `cuda` or `cuda:N`).

    Raises:
        InputError: the runtime is unknown or does not run on that kind of device.
        MissingDependencyError: a package is absent; the message holds the line that installs it.
    """
    runtime = load(name)
    kind = device.split(":")[0]
    if kind not in runtime.devices:
        raise InputError(
            f"runtime {name} runs on {' and '.join(runtime.devices)}, not on {kind}; choose another runtime"
        )
    able, reason = runtime.available()
    if not able:
        raise MissingDependencyError(f"runtime {name}: {reason}")
    return runtime


def availability() -> dict[str, tuple[bool, str]]:
    """For every runtime: can it be used here, and if not, what to run. Imports no runtime."""
    return {name: load(name).available() for name in NAMES}
