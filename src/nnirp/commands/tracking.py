"""`nnirp ui` and `nnirp tracking`: the runs in MLflow."""

import os
import subprocess
import sys
from typing import Annotated

import typer

from nnirp.commands.output import emit_json
from nnirp.errors import NnirpError
from nnirp.project import Project, find_project

tracking = typer.Typer(help="Fill MLflow from the run records.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.command()(ui)
    app.add_typer(tracking, name="tracking")


def record_folders(project: Project) -> list:
    """The folders of a project under which `run.json` files lie."""
    return [project.manifests, project.models, project.reports, project.data / "benchmarks"]


@tracking.command()
def sync(
    context: typer.Context,
    uri: Annotated[str | None, typer.Option(help="An MLflow tracking URI; the project's own store by default.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Take every run record into MLflow; doing it again changes nothing."""
    from nnirp.tracking.store import Store

    project = find_project(context.obj)
    store = Store(project.root, uri)
    counts = store.sync(record_folders(project))
    if json:
        emit_json({"store": store.uri, **counts})
    else:
        typer.echo(", ".join(f"{number} {what}" for what, number in counts.items()) + f" in {store.uri}")
    if counts["unreadable"]:
        raise NnirpError(
            f"{counts['unreadable']} run records are unreadable, named above; `dvc checkout` restores published ones"
        )


def ui(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Open the MLflow UI over every recorded run, on 127.0.0.1."""
    from nnirp.tracking.store import Store

    project = find_project(context.obj)
    store = Store(project.root)
    counts = store.sync(record_folders(project))
    total = sum(counts[name] for name in ("added", "replaced", "unchanged"))
    typer.echo(
        f"{total} runs. Choose “Model training” on the left, then the summary experiment, select all and “Compare”."
    )
    typer.echo(f"http://127.0.0.1:{port}  (Ctrl-C ends it)")
    command = [
        sys.executable,
        "-m",
        "mlflow",
        "ui",
        "--backend-store-uri",
        store.uri,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    # One worker and no job queue: 7 s and 0.4 GB where the defaults take 15 s and 2.3 GB.
    settings = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run([*command, "--workers", "1"], env={**os.environ, **settings}, check=False)
    if done.returncode not in (0, -2, 130):
        raise NnirpError(
            f"the MLflow UI ended with code {done.returncode}; is port {port} taken? `nnirp ui --port {port + 1}`"
        )
