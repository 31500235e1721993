"""The registry of builders: a builder is a decorated function from a request to a module and its inputs."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nnirp.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Request:
    """What a builder is asked for; `arguments` are the configuration's, overridden by the sample's."""

    arguments: dict[str, Any]
    batch: int
    size: int
    mode: str


Built = tuple["torch.nn.Module", "dict[str, torch.Tensor]"]
Builder = Callable[[Request], Built]
_BUILDERS: dict[str, Builder] = {}


def builder(name: str) -> Callable[[Builder], Builder]:
    """Register a builder under a name. It runs under `torch.device(...)`, so it never names a device itself."""

    def register(function: Builder) -> Builder:
        known = _BUILDERS.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (function.__module__, function.__qualname__):
            raise ValueError(f"builder {name!r} is registered twice")
        _BUILDERS[name] = function
        return function

    return register


def find_builder(name: str, family: str) -> Builder:
    """Return a builder, importing only its family's file; raises InputError where there is none of that name."""
    import_module(f"nnirp.catalog.builders.{family}")
    if name not in _BUILDERS:
        raise InputError(f"catalog: {name!r} is not a builder of {family}; known are {', '.join(sorted(_BUILDERS))}")
    return _BUILDERS[name]
