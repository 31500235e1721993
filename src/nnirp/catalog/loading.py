"""From the declared rows to a catalog."""

from functools import cache
from importlib import import_module

from nnirp.catalog.configurations import Catalog, SourceConfiguration, check
from nnirp.catalog.grids import Row, samples_of
from nnirp.catalog.taxonomy import FAMILIES, SUB_FAMILIES
from nnirp.errors import InputError

SELECTIONS = ("starter", "full")


def rows() -> tuple[Row, ...]:
    """Return all declared rows, sorted by id."""
    declared = [row for family in FAMILIES for row in import_module(f"nnirp.catalog.rows.{family}").ROWS]
    return tuple(sorted(declared, key=lambda row: row.id))


@cache
def load_catalog(selection: str = "starter") -> Catalog:
    """Return the catalog from code: "starter" is a part of "full", with the same ids and sample names.

    Raises InputError for any other selection.
    """
    if selection not in SELECTIONS:
        raise InputError(f"catalog.selection: {selection!r} is not known; set it to one of {', '.join(SELECTIONS)}")
    configurations = []
    for row in rows():
        grids = row.starter if selection == "starter" else row.starter + row.more
        if not grids:
            continue
        configurations.append(
            SourceConfiguration(
                id=row.id,
                name=row.name,
                family=SUB_FAMILIES[row.sub_family].family,
                sub_family=row.sub_family,
                builder=row.builder,
                arguments=dict(row.arguments),
                library=row.library,
                model_type=row.arguments.get("model_type"),
                parametric=row.parametric,
                samples=samples_of(row, grids),
            )
        )
    catalog = Catalog(tuple(configurations), selection)
    check(catalog)
    return catalog
