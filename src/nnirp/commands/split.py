"""`nnirp split`: draw the splits, explain them, and audit anybody's index file."""

from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import Json, Root, project_of
from nnirp.commands.output import emit_json, emit_table
from nnirp.errors import NnirpError, NotPulledError

split = typer.Typer(help="Draw the splits of every protocol; explain them; audit an index file.")


def register(app: typer.Typer) -> None:
    app.add_typer(split, name="split")


@split.callback(invoke_without_command=True)
def draw(
    context: typer.Context,
    root: Root = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say how the splits were found instead of drawing them.")
    ] = False,
    json: Json = False,
) -> None:
    """Draw clusters and the index files of every protocol, and audit them."""
    if context.invoked_subcommand:
        return
    from nnirp.splits.index import read_index

    project = project_of(context, root)
    if not explain:
        from nnirp.stages import cluster as cluster_stage
        from nnirp.stages import split as split_stage

        if (project.manifests / "catalog.json").is_file() or not (project.manifests / "clusters.json").is_file():
            cluster_stage.run(project)  # clusters of an imported root without a catalog came with it
        split_stage.run(project)
    indices = [read_index(path) for path in sorted((project.data / "splits").glob("*.json"))]
    if not indices:
        raise NotPulledError(f"{project.data / 'splits'} has no index file; `dvc pull data/splits` or `nnirp split`")
    if json:
        emit_json(
            {i.protocol: {"folds": len(i.folds), "digest": i.digest, "explanation": i.explanation} for i in indices}
        )
    elif explain:
        for index in indices:
            typer.echo(f"{index.protocol} ({index.digest[:12]})")
            for line in index.explanation:
                typer.echo(f"  {line}")
    else:
        rows = [(i.protocol, f.name, len(f.train), len(f.val), len(f.test)) for i in indices for f in i.folds]
        emit_table("splits", ("protocol", "fold", "train", "val", "test"), rows)


@split.command()
def audit(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="An index file: {protocol, folds: [{name, train, val, test}]}.")],
    root: Root = None,
    json: Json = False,
) -> None:
    """Audit an index file against the dataset it names samples of. Exit code 1 on a leak that its protocol forbids."""
    from nnirp.layers.store import pack
    from nnirp.splits.audit import audit as audit_index
    from nnirp.splits.index import read_index

    report = audit_index(read_index(file, strict=False), pack(project_of(context, root).data))
    if json:
        emit_json(report.to_dict())
    else:
        for line in report.lines():
            typer.echo(line)
    if not report.ok:
        raise NnirpError(f"{file} leaks: {report.leaks[0]}; `nnirp split` draws a split without")
