"""`nnirp serve`: answers over HTTP, by MLflow's own model server."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import project_of
from nnirp.errors import InputError, NnirpError


def register(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5001,
    files: Annotated[Path, typer.Option(help="Requests may name files of this folder by path.")] = Path(),
    save: Annotated[
        Path | None, typer.Option(help="Write the MLflow model into this new folder instead of serving it.")
    ] = None,
    register_as: Annotated[
        str | None, typer.Option(help="Register it in the project's MLflow store under this name instead.")
    ] = None,
    predictor: Annotated[str, typer.Option(help="A trained predictor.")] = "additive_roofline",
    protocol: Annotated[str, typer.Option(help="The split its weights were trained on.")] = "cluster",
    root: Annotated[Path | None, typer.Option(help="A dataset root with models; the project's own by default.")] = None,
) -> None:
    """Serve a predictor on 127.0.0.1 through `mlflow models serve`, or save or register it for that."""
    from nnirp.prediction.kept import find_kept

    project = project_of(context, root)
    kept = find_kept(project.models, project.manifests, predictor, protocol)
    if save is not None and save.exists():
        raise InputError(f"--save {save}: it exists; name a new folder")
    from nnirp.prediction.serving.saving import register_served_model, save_served_model

    if register_as is not None:
        from nnirp.tracking.store import Store

        store = Store(project.root)
        if store.client is None:
            raise NnirpError(f"the MLflow store {store.uri} does not open; `nnirp tracking sync` says why")
        typer.echo(register_served_model(kept, project.manifests, register_as, store.uri))
        return
    if save is not None:
        save_served_model(kept, project.manifests, save)
        typer.echo(f"wrote {save}; serve it by `mlflow models serve -m {save} --env-manager local`")
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        save_served_model(kept, project.manifests, folder)
        typer.echo(f"http://127.0.0.1:{port}/invocations  (Ctrl-C ends it)")
        command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(folder), "--env-manager", "local"]
        settings = {"MLFLOW_DISABLE_TELEMETRY": "true", "NNIRP_SERVE_ROOT": str(files.resolve())}
        done = subprocess.run(
            [*command, "--host", "127.0.0.1", "--port", str(port)], env=os.environ | settings, check=False
        )
    if done.returncode not in (0, -2, 130):
        raise NnirpError(
            f"the server ended with code {done.returncode}; is port {port} taken? `nnirp serve --port {port + 1}`"
        )
