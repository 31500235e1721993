"""Predict how long a neural network runs, how much memory it needs and where it fits, without running it."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
_PUBLIC = {
    "load_dataset": "nnirp.layers.dataset",
    "load_sample": "nnirp.layers.samples",
    "predict": "nnirp.prediction.asking",
}
__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
