"""The catalog exists to say which networks are measured: families, source configurations, how each is built, and at which sizes.

Importing this package is cheap; torch, timm and transformers are imported by `build` and by the builders it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnirp.catalog.configurations import Catalog, Sample, SourceConfiguration
from nnirp.catalog.errors import BuilderError
from nnirp.catalog.loading import load_catalog
from nnirp.catalog.taxonomy import FAMILIES, SUB_FAMILIES, SubFamily

if TYPE_CHECKING:
    from nnirp.catalog.building import BuiltModel, build

__all__ = [
    "FAMILIES",
    "SUB_FAMILIES",
    "BuilderError",
    "BuiltModel",
    "Catalog",
    "Sample",
    "SourceConfiguration",
    "SubFamily",
    "build",
    "load_catalog",
]


def __getattr__(name: str):
    if name in ("BuiltModel", "build"):
        from nnirp.catalog import building

        return getattr(building, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
