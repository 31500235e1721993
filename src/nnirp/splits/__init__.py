"""Which samples a predictor learns from and which it is asked about: protocols, clusters, coverage, leakage audit."""

from importlib import import_module

_PUBLIC = {
    "AuditReport": "audit",
    "audit": "audit",
    "BigramTable": "bigrams",
    "compute_clusters": "clusters",
    "Fold": "index",
    "Index": "index",
    "read_index": "index",
    "write_index": "index",
    "PROTOCOLS": "protocols",
    "canonical_manifest": "protocols",
    "describe": "protocols",
    "make_split": "protocols",
}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
