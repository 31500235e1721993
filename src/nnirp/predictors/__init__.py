"""Runtime predictors: graphs in, log2 of every target with an interval out; one file each, one interface, one registry."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nnirp.predictors.interface import Prediction, Predictor
    from nnirp.predictors.registry import create, load, names, register

_WHERE = {
    "Prediction": "interface",
    "Predictor": "interface",
    "create": "registry",
    "load": "registry",
    "names": "registry",
    "register": "registry",
}
__all__ = ["Prediction", "Predictor", "create", "load", "names", "register"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
