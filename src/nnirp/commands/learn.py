"""Commands that tune, train, score and report: tune, train, evaluate, report, reproduce."""

from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import Json, Root, project_of
from nnirp.commands.output import emit_json, emit_table


def register(app: typer.Typer) -> None:
    for command in (tune, train, evaluate, report, reproduce):
        app.command()(command)


PredictorName = Annotated[str, typer.Argument(help="A predictor's name; an unknown one shows all.")]
_PROTOCOLS = "random, config, cluster, subfamily, family, size or fewshot-k."


def tune(
    context: typer.Context,
    predictor: PredictorName,
    protocol: Annotated[str, typer.Argument(help=_PROTOCOLS)] = "cluster",
    trials: Annotated[int, typer.Option(min=1, help="Settings to try, on top of those the study has.")] = 30,
    processes: Annotated[int, typer.Option(min=1, help="Local processes that share the trials.")] = 1,
    storage: Annotated[
        str | None, typer.Option(help="An Optuna storage URL that several machines may share; a file by default.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the search and of every fit.")] = 0,
    root: Root = None,
    json: Json = False,
) -> None:
    """Search a predictor's settings on the validation parts of a split; the test parts are not read. It goes on after a kill."""
    from nnirp.tracking.store import Store
    from nnirp.training.tuning import BEST
    from nnirp.training.tuning import tune as search

    project = project_of(context, root)
    output = project.reports / "tuning" / protocol / predictor
    best = search(
        project.data,
        predictor,
        protocol,
        output,
        trials=trials,
        storage=storage or f"sqlite:///{project.work / 'tune' / f'{predictor}-{protocol}.db'}",
        root=project.root,
        seed=seed,
        processes=processes,
        fixed=project.parameters.train.settings.get(predictor),
        store=Store(project.root),
    )
    if json:
        emit_json(best)
        return
    rows = sorted(best["settings"][predictor].items())
    emit_table(f"{predictor}, {protocol}: best of {sum(best['trials'].values())} trials", ("setting", "value"), rows)
    path = output / BEST
    typer.echo(f"wrote {path}; `nnirp train {predictor} {protocol} --settings {path}`, or into params.yaml")


def train(
    context: typer.Context,
    predictor: PredictorName,
    protocol: Annotated[str, typer.Argument(help=_PROTOCOLS)] = "cluster",
    settings: Annotated[
        Path | None, typer.Option(help="What `nnirp tune` wrote, instead of the settings in params.yaml.")
    ] = None,
    root: Root = None,
) -> None:
    """Train one predictor under one protocol: every fold and seed."""
    from nnirp.stages.train import run
    from nnirp.training.tuning import read_settings

    project = project_of(context, root)
    run(project, predictor, protocol, read_settings(settings, predictor) if settings else None)
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
