"""The catalog as a page for people: what it holds, sub-family by sub-family, and what it leaves out."""

from collections.abc import Iterable, Sequence

from nnirp.catalog.configurations import Catalog, SourceConfiguration
from nnirp.catalog.left_out import LEFT_OUT, LeftOut
from nnirp.catalog.taxonomy import FAMILIES, SUB_FAMILIES

COMMAND = "nnirp catalog --taxonomy docs/taxonomy.md"


def taxonomy_page(starter: Catalog, full: Catalog, left_out: Sequence[LeftOut] = LEFT_OUT) -> str:
    """Return Markdown: counts by family, a table of members a sub-family, and the architectures that are left out.

    Args:
        starter: the small selection, a part of `full`.
        full: everything that is declared.
        left_out: architectures that are not in the catalog, with reasons.
    """
    in_starter = {c.id: len(c.samples) for c in starter.configurations}
    lines = [
        "# Taxonomy: what the catalog holds",
        "",
        f"Written by `{COMMAND}`; a test fails where it is not what that command writes.",
        "",
        "A **family** holds **sub-families**; a sub-family holds **source configurations**, each one architecture with an id that never",
        "changes; a source configuration holds **samples**, one for each size, batch, precision and mode. A *parametric* configuration",
        "sweeps its own depth, width or kernel as well; a *real* one has the sizes of a published model. **Clusters** lie between",
        "sub-families and configurations: they are found from the operators of the exported graphs, so they belong to a dataset and not to",
        "this page; `nnirp catalog` shows them where `manifests/clusters.json` exists. Counts of samples are those of the selections",
        "`starter` and `full` (`catalog.selection` in `params.yaml`).",
        "",
        *_counts(in_starter, full.configurations),
    ]
    for family in FAMILIES:
        members = [c for c in full.configurations if c.family == family]
        if members:
            lines += ["", f"## {family}"]
        for name, sub_family in SUB_FAMILIES.items():
            inside = [c for c in members if c.sub_family == name]
            if inside:
                lines += ["", f"### {name}", "", f"{sub_family.description[0].upper()}{sub_family.description[1:]}."]
                lines += ["", *_members(in_starter, inside)]
    lines += ["", "## Left out", "", "One sample may take 150 GFLOPs and 3 GB of weights (float32).", ""]
    lines += _table(("family", "architecture", "reason"), ((o.family, f"`{o.name}`", o.reason) for o in left_out))
    return "\n".join(lines) + "\n"


def _counts(in_starter: dict[int, int], configurations: Sequence[SourceConfiguration]) -> list[str]:
    def row(name: str, members: Sequence[SourceConfiguration]) -> tuple:
        samples = sum(len(c.samples) for c in members)
        parametric = [c for c in members if c.parametric]
        swept = sum(len(c.samples) for c in parametric)
        return (
            name,
            len({c.sub_family for c in members}),
            len(members),
            len(parametric),
            sum(in_starter.get(c.id, 0) for c in members),
            samples,
            f"{swept / samples:.0%}",
        )

    by_family = {family: [c for c in configurations if c.family == family] for family in FAMILIES}
    rows = [row(family, members) for family, members in by_family.items() if members]
    columns = (
        "family",
        "sub-families",
        "configurations",
        "parametric",
        "samples: starter",
        "full",
        "of them parametric",
    )
    return _table(columns, [*rows, row("**all**", configurations)])


def _members(in_starter: dict[int, int], members: Iterable[SourceConfiguration]) -> list[str]:
    rows = (
        (c.id, f"`{c.name}`", "parametric" if c.parametric else "real", in_starter.get(c.id, 0), len(c.samples))
        for c in members
    )
    return _table(("id", "configuration", "kind", "starter", "full"), rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    def line(cells: Iterable[object]) -> str:
        return f"| {' | '.join(str(cell) for cell in cells)} |"

    return [line(columns), line("---" for _ in columns), *(line(row) for row in rows)]
