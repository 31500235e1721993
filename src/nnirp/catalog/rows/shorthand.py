"""Short forms of the rows that most architectures need: from the transformers hub, from timm, and parametric ones."""

from collections.abc import Mapping
from typing import Any

from nnirp.catalog.grids import Grid, Row


def hub(
    identifier: int, name: str, sub_family: str, builder: str, size_kind: str, *more: Grid, **arguments: Any
) -> Row:
    """A published transformers checkpoint by its hub id; `arguments` are its sizes where the library's default differs."""
    return Row(identifier, name, sub_family, builder, arguments, "transformers", size_kind, more=more)


def timm_model(identifier: int, architecture: str, sub_family: str, builder: str, *more: Grid, **arguments: Any) -> Row:
    """A timm architecture by its name."""
    return Row(
        identifier,
        architecture,
        sub_family,
        builder,
        {"architecture": architecture} | arguments,
        "timm",
        "im",
        more=more,
    )


def parametric(
    identifier: int,
    name: str,
    sub_family: str,
    builder: str,
    size_kind: str,
    *more: Grid,
    library: str = "transformers",
    arguments: Mapping[str, Any] | None = None,
) -> Row:
    """An architecture whose sizes the grids sweep."""
    return Row(identifier, name, sub_family, builder, arguments or {}, library, size_kind, more=more, parametric=True)


def points_within(
    sizes: tuple[int, ...], batches: tuple[int, ...], limit: int, power: int = 1
) -> tuple[tuple[int, int], ...]:
    """Return the (size, batch) pairs with size ** power × batch ≤ limit: what tokens or pixels a model's cost allows."""
    return tuple((size, batch) for size in sizes for batch in batches if size**power * batch <= limit)
