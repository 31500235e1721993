"""`nnirp import`: measurements made by others as a dataset root."""

from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import Json
from nnirp.commands.output import emit_json, emit_table

importing = typer.Typer(help="Turn measurements made by others into a dataset root.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(importing, name="import")


@importing.command("nn-meter")
def nn_meter(
    source: Annotated[Path, typer.Argument(help="Folder with nodes.parquet, edges.parquet and labels.parquet.")],
    output: Annotated[Path, typer.Argument(help="The dataset root to write.")],
    device: Annotated[
        str, typer.Option(help="Which device's latency: a column `<device>_ms` of labels.parquet.")
    ] = "cortex_a76",
    families: Annotated[str | None, typer.Option(help="Only these families, separated by commas.")] = None,
    limit_per_family: Annotated[
        int | None, typer.Option(min=1, help="At most this many graphs a family, evenly over the source.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    json: Json = False,
) -> None:
    """Import the operator graphs and phone latencies of nn-Meter; a kill loses at most one configuration a process."""
    from nnirp.importers.nn_meter import import_nn_meter
    from nnirp.progress import progress

    chosen = tuple(name.strip() for name in families.split(",") if name.strip()) if families else None
    with progress("import nn-meter") as report:
        summary = import_nn_meter(
            source,
            output,
            device=device,
            families=chosen,
            limit_per_family=limit_per_family,
            jobs=jobs,
            on_progress=report,
        )
    if json:
        emit_json(summary)
    else:
        rows = [(what, value) for what, value in summary.items() if isinstance(value, str | int | float)]
        emit_table(f"imported into {output}", ("what", "value"), rows)
