"""Commands that train, score and report: train, evaluate, report, reproduce."""

from typing import Annotated

import typer

from nnirp.commands.data import Root, project_of
from nnirp.commands.output import emit_json, emit_table


def register(app: typer.Typer) -> None:
    for command in (train, evaluate, report, reproduce):
        app.command()(command)


def train(
    context: typer.Context,
    predictor: Annotated[
        str, typer.Argument(help="A name that `nnirp train --help` need not list: an unknown one shows all.")
    ],
    protocol: Annotated[
        str, typer.Argument(help="random, config, cluster, subfamily, family, size or fewshot-k.")
    ] = "cluster",
    root: Root = None,
) -> None:
    """Train one predictor under one protocol: every fold and seed."""
    from nnirp.stages.train import run

    project = project_of(context, root)
    run(project, predictor, protocol)
    typer.echo(f"wrote {project.models / protocol / predictor}")


def evaluate(
    context: typer.Context,
    root: Root = None,
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Score every prediction under `models/`."""
    from nnirp.evaluation.runs import load_scores
    from nnirp.evaluation.tables import protocol_table
    from nnirp.stages.evaluate import run

    project = project_of(context, root)
    run(project)
    table = protocol_table(load_scores(project.reports / "scores"))
    if json:
        emit_json(table.to_dict("index"))
    else:
        show_table(table)


def report(context: typer.Context, root: Root = None) -> None:
    """Write the comparison as Markdown, HTML and charts."""
    from nnirp.stages.report import run

    project = project_of(context, root)
    run(project)
    typer.echo(f"wrote {project.reports / 'comparison.html'}")


def reproduce(
    context: typer.Context,
    root: Root = None,
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Train and score the default matrix again, beside the published results, and show how the two tables differ."""
    from nnirp.stages.reproduce import run as again

    project = project_of(context, root)
    result = again(project)
    if json:
        emit_json(result.as_dict())
        return
    show_table(result.table)
    typer.echo(result.verdict())


def show_table(table) -> None:
    """A protocol × predictor table of percent, with its index as the first column."""
    rows = [
        (name, *(f"{value:.1f} %" for value in row)) for name, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    emit_table("test MAPE of the runtime, pooled", ("protocol", *table.columns), rows)
