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
    show_summary(output, summary, json)


@importing.command("timm-csv")
def timm_csv(
    table: Annotated[Path, typer.Argument(help="A benchmark-infer-*.csv of pytorch-image-models.")],
    output: Annotated[Path, typer.Argument(help="The dataset root to write.")],
    models: Annotated[
        int | None, typer.Option(min=1, help="This many, spread evenly over timm's modules; all by default.")
    ] = None,
    names: Annotated[
        Path | None, typer.Option("--list", exists=True, dir_okay=False, help="A file with a model's name a line.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="What was measured on; the file's name says it by default.")
    ] = None,
    precision: Annotated[str | None, typer.Option(help="amp, fp32, …; the file's name says it by default.")] = None,
    min_families: Annotated[
        int, typer.Option(min=1, help="Do not begin with a choice of fewer of timm's modules than this.")
    ] = 1,
    timeout_s: Annotated[float, typer.Option(min=1, help="Seconds that one export may take.")] = 300.0,
    memory_gib: Annotated[float, typer.Option(min=0.5, help="Memory that one export may take.")] = 8.0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    json: Json = False,
) -> None:
    """Build timm's models at a table's sizes, export them, and label them with its step times; a kill loses one model."""
    from nnirp.importers.exporting import Limits
    from nnirp.importers.timm_csv import import_timm_csv
    from nnirp.progress import progress

    lines = names.read_text(encoding="utf-8").splitlines() if names else []
    with progress("import timm-csv") as report:
        summary = import_timm_csv(
            table,
            output,
            models=models,
            listed=[line.strip() for line in lines if line.strip() and not line.startswith("#")],
            device=device,
            precision=precision,
            min_families=min_families,
            jobs=jobs,
            limits=Limits(timeout_s, memory_gib),
            on_progress=report,
        )
    show_summary(output, summary, json)


def show_summary(output: Path, summary: dict, json: bool) -> None:
    """What an importer took and what it left out, with reasons."""
    if json:
        emit_json(summary)
        return
    rows = [(what, value) for what, value in summary.items() if isinstance(value, str | int | float)]
    usable = [name for name, state in summary["splits"].items() if state.startswith(("drawn", "taken"))]
    emit_table(f"imported into {output}", ("what", "value"), [*rows, ("splits", ", ".join(usable))])
    for title in ("derived", "assumed", "left_out"):
        if summary.get(title):
            emit_table(f"{title.replace('_', ' ')}: {len(summary[title])}", ("what", "how"), summary[title].items())


@importing.command("csv")
def table_csv(
    table: Annotated[Path, typer.Argument(help="A CSV file with one measurement a line.")],
    output: Annotated[Path, typer.Argument(help="The dataset root to write.")],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="field=column, several times. Fields: model, batch, size, precision, device, configuration, family, "
            "sub_family, and with their unit runtime_us|ms|s, peak_ram_bytes|kb|mb|gb, peak_vram_…, energy_mj|j."
        ),
    ] = None,
    device: Annotated[str | None, typer.Option(help="What was measured on, or which of the table's devices.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Batch of every line, where no column says it.")] = None,
    statistic: Annotated[str, typer.Option(help="Label of repeated lines: mean, median or min.")] = "median",
    timeout_s: Annotated[float, typer.Option(min=1, help="Seconds that one graph may take.")] = 300.0,
    memory_gib: Annotated[float, typer.Option(min=0.5, help="Memory that one graph may take.")] = 8.0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    json: Json = False,
) -> None:
    """Import a table of ONNX files, timm models or catalog configurations with their measurements."""
    from nnirp.errors import InputError
    from nnirp.importers.exporting import Limits
    from nnirp.importers.table import import_csv
    from nnirp.progress import progress

    pairs = [text.partition("=") for text in column or ()]
    for name, sign, _ in pairs:
        if not sign:
            raise InputError(f"--column {name}: expected field=column, such as runtime_ms=latency")
    if statistic not in ("mean", "median", "min"):
        raise InputError(f"--statistic {statistic}: expected mean, median or min")
    with progress("import csv") as report:
        summary = import_csv(
            table,
            output,
            columns={name.strip(): value.strip() for name, _, value in pairs},
            device=device,
            batch=batch,
            statistic=statistic,
            jobs=jobs,
            limits=Limits(timeout_s, memory_gib),
            on_progress=report,
        )
    show_summary(output, summary, json)


@importing.command("nnirp")
def published(
    root: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="A downloaded copy of the published dataset.")
    ],
    output: Annotated[Path, typer.Argument(help="The dataset root to write.")],
    copy: Annotated[bool, typer.Option("--copy", help="Copy the archives instead of linking them.")] = False,
    encode: Annotated[
        bool, typer.Option("--encode", help="Make the features anew from its graphs and records.")
    ] = False,
    device: Annotated[str | None, typer.Option(help="What was measured on, where no record says it.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes of the encoder.")] = 1,
    json: Json = False,
) -> None:
    """Adopt a downloaded copy of the published dataset: check it, complete its manifests, draw the splits it lacks."""
    from nnirp.importers.published import import_published
    from nnirp.progress import progress

    with progress("import nnirp") as report:
        summary = import_published(root, output, copy=copy, encode=encode, device=device, jobs=jobs, on_progress=report)
    show_summary(output, summary, json)
