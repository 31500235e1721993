"""The published formats: archives, frames, manifests, profile records, samples, verification and the packed store."""

from importlib import import_module

_PUBLIC = {
    "Dataset": "dataset",
    "load_dataset": "dataset",
    "encode_layer": "encode_layer",
    "load_sample": "samples",
    "dump_sample": "samples",
    "GraphBatch": "store",
    "GraphSet": "store",
    "GraphStore": "store",
    "pack": "packing",
    "verify": "verify",
}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
