"""Turns an ONNX graph into what a predictor reads: operators, exact costs, data-flow edges and memory arithmetic.

The public names are imported on first use, so that importing the package stays light.
"""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "EncodedGraph": "encoder",
    "encode": "encoder",
    "ENCODER_VERSION": "encoder",
    "to_data": "data",
    "load_vocabulary": "vocabulary",
}
__all__ = ["ENCODER_VERSION", "EncodedGraph", "encode", "load_vocabulary", "to_data"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
