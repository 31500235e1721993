"""`nnirp fetch`: layers of a published dataset from the Hugging Face hub."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import Json


def register(app: typer.Typer) -> None:
    app.command()(fetch)


def fetch(
    repository: Annotated[str, typer.Argument(help="A dataset repository, owner/name.")],
    layer: Annotated[
        list[str] | None,
        typer.Option(help="onnx-graphs, profiling or pyg-features; may be given several times; all by default."),
    ] = None,
    id: Annotated[
        list[int] | None, typer.Option(help="A source configuration; may be given several times; all by default.")
    ] = None,
    revision: Annotated[str, typer.Option(help="Branch, tag or commit.")] = "main",
    output: Annotated[
        Path | None,
        typer.Option(help="The dataset root to fill; the repository's name in the current folder by default."),
    ] = None,
    json: Json = False,
) -> None:
    """Download archives and manifests of a published dataset; a kill loses nothing, every file's digest is compared.

    HF_ENDPOINT names another hub than the public one.
    """
    from nnirp.commands.output import emit_json
    from nnirp.layers.fetch import fetch as download
    from nnirp.progress import progress

    output = output or Path(repository.rsplit("/", 1)[-1])
    with progress("fetch, bytes") as report:
        done = download(repository, output, layers=layer or (), ids=id or (), revision=revision, on_progress=report)
    if json:
        emit_json(asdict(done) | {"output": str(output)})
        return
    typer.echo(
        f"{output}: {len(done.files)} files of {repository} at {done.commit[:12]}, {done.downloaded_bytes:,} bytes transferred"
    )
    typer.echo(f"check it with `nnirp verify {output}`, adopt it with `nnirp import nnirp {output} <new root>`")
