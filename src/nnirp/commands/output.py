"""How a command answers: a table for people, JSON for machines."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import typer


def emit_json(value: Any) -> None:
    """Write one JSON document to standard output."""
    typer.echo(json.dumps(value, indent=1, default=_plain))


def emit_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table to standard output; numbers to the right, everything else to the left."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    rows = [list(row) for row in rows]
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for position, column in enumerate(columns):
        numeric = all(isinstance(row[position], int | float) for row in rows) and bool(rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(format_cell(cell)) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(table)


def format_cell(cell: Any) -> str:
    """A number with three significant digits, everything else as it is."""
    if isinstance(cell, float):
        return "–" if cell != cell else f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.3g}"
    return "" if cell is None else str(cell)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "item"):
        return value.item()
    return str(value)
