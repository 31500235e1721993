"""Commands that make or show data layers: catalog, export, profile, encode, describe."""

import json as json_module
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.output import emit_json, emit_table
from nnirp.errors import InputError, NotPulledError
from nnirp.project import Project, find_project

Json = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
Root = Annotated[Path | None, typer.Option(help="A dataset root; the project's `data` by default.")]


def register(app: typer.Typer) -> None:
    for command in (catalog, export, profile, encode, describe):
        app.command()(command)


def project_of(context: typer.Context, root: Path | None) -> Project:
    """The project around the current folder, on the dataset root the user named."""
    found = find_project(context.obj)
    return Project(found.root, root.resolve()) if root else found


def catalog(
    context: typer.Context,
    summary: Annotated[
        bool, typer.Option("--summary", help="Counts per family and sub-family instead of a row a configuration.")
    ] = False,
    selection: Annotated[str, typer.Option(help="`starter` or `full`.")] = "starter",
    root: Root = None,
    write: Annotated[bool, typer.Option("--write", help="Write manifests/catalog.json of the root.")] = False,
    taxonomy: Annotated[
        Path | None, typer.Option(help="Write both selections and what is left out as a Markdown page.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the source configurations and their samples, and their clusters where the root has them."""
    from nnirp.catalog import load_catalog

    if taxonomy:
        from nnirp.catalog.page import taxonomy_page

        taxonomy.write_text(taxonomy_page(load_catalog("starter"), load_catalog("full")), encoding="utf-8")
        typer.echo(f"wrote {taxonomy}")
        return
    if write:
        from nnirp.stages.catalog import run

        project = project_of(context, root)
        run(project)
        typer.echo(f"wrote {project.manifests / 'catalog.json'}")
        return
    content = load_catalog(selection)
    clusters = known_clusters(context, root)
    if summary:
        counts = content.summary(clusters)
        emit_json(counts) if json else emit_table(f"catalog: {selection}", *summary_rows(counts))
        return
    rows = [
        (c.id, c.name, c.family, c.sub_family, clusters.get(c.id), c.library, c.parametric, len(c.samples))
        for c in content.configurations
    ]
    columns = ("id", "configuration", "family", "sub-family", "cluster", "library", "parametric", "samples")
    if json:
        emit_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        emit_table(f"catalog: {selection}", columns, rows)


def export(
    context: typer.Context,
    status: Annotated[bool, typer.Option("--status", help="Show what is exported instead of exporting.")] = False,
    root: Root = None,
    json: Json = False,
) -> None:
    """Export every sample of the catalog as a weight-free ONNX graph."""
    from nnirp.graphs.layer import finished_rows, speed

    project = project_of(context, root)
    if not status:
        from nnirp.stages.export import run

        run(project)
    rows = read_manifest(project, "export.json")["samples"]
    failed = {name: row["error"] for name, row in rows.items() if row["status"] != "ok"}
    methods = Counter(row.get("method", "traced") for row in rows.values() if row["status"] == "ok")
    seconds = speed(finished_rows(project.work / "export"))
    if json:
        emit_json(
            {"samples": len(rows), "exported": len(rows) - len(failed), "failed": failed}
            | {"methods": dict(methods), "this machine": seconds}
        )
        return
    emit_table(f"{len(rows) - len(failed)} of {len(rows)} samples exported", ("sample", "error"), failed.items())
    emit_table("how", ("method", "samples"), methods.items())
    if seconds["graphs"]:
        emit_table("on this machine, one core", ("what", "value"), [(k, f"{v:.2f}") for k, v in seconds.items()])


def profile(
    context: typer.Context,
    root: Root = None,
    budget_minutes: Annotated[
        float | None, typer.Option(min=0.1, help="Stop after this long; the same command goes on later.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or cuda:N; params.yaml decides otherwise.")] = None,
    runtime: Annotated[
        str | None, typer.Option(help="A runtime that `nnirp doctor` lists; params.yaml decides otherwise.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure every sample of the catalog on this machine; a kill at any moment loses nothing."""
    from nnirp.stages.profile import run

    summary = run(
        project_of(context, root), keep_journal=True, budget_minutes=budget_minutes, device=device, runtime=runtime
    )
    if json:
        emit_json(summary)
    else:
        emit_table(
            "campaign", ("what", "value"), [(k, v) for k, v in summary.items() if not isinstance(v, dict | list)]
        )


def encode(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="One ONNX file to look at; without it the whole layer is encoded.")
    ] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Size of a symbolic batch dimension of the file.")] = None,
    root: Root = None,
    json: Json = False,
) -> None:
    """Encode graphs and measurements as PyTorch Geometric samples, or show what one ONNX file is encoded to."""
    if file is not None:
        show_encoded(file, batch, json)
        return
    from nnirp.stages.encode import run

    project = project_of(context, root)
    run(project)
    manifest = read_manifest(project, "dataset.json")
    if json:
        emit_json(manifest)
    else:
        rows = [(k, v) for k, v in manifest.items() if isinstance(v, str | int | float)]
        emit_table("dataset", ("what", "value"), [*rows, ("dropped", len(manifest["dropped"]))])


def describe(context: typer.Context, root: Root = None, json: Json = False) -> None:
    """Write the table of samples and the Croissant file of a dataset root, and count its samples by how they ended."""
    import pandas as pd

    from nnirp.stages.describe import run

    project = project_of(context, root)
    run(project)
    table = pd.read_csv(project.manifests / "samples.csv")
    counts = table.groupby("family")["status"].value_counts().unstack(fill_value=0)
    if json:
        emit_json({"samples": len(table), "families": counts.to_dict("index")})
        return
    rows = [(family, *row) for family, row in zip(counts.index, counts.itertuples(index=False), strict=True)]
    emit_table(f"{project.manifests / 'samples.csv'}: {len(table)} samples", ("family", *counts.columns), rows)


def show_encoded(file: Path, batch: int | None, json: bool) -> None:
    """Operators, arithmetic and memory of one ONNX file, as the predictors see it."""
    from nnirp.features.vocabulary import load_vocabulary
    from nnirp.prediction.encoding import encode_file

    encoded = encode_file(file, batch=batch)
    names = load_vocabulary().operators
    operators = Counter(names[i] for i in encoded.op.tolist())
    for warning in encoded.warnings:
        typer.echo(f"warning: {warning}", err=True)
    answer = {
        "batch": encoded.batch,
        "nodes": len(encoded.x),
        "edges": int(encoded.edge_index.shape[1]),
        "gflops": encoded.total_flops / 1e9,
        "weight_bytes": encoded.memory[0],
        "peak_activation_bytes": encoded.memory[1],
        "operators": dict(operators.most_common()),
    }
    if json:
        emit_json(answer)
    else:
        emit_table(
            file.name, ("what", "value"), [(name, value) for name, value in answer.items() if name != "operators"]
        )
        emit_table("operators", ("operator", "nodes"), operators.most_common())


def summary_rows(counts: dict) -> tuple[tuple[str, ...], list[tuple]]:
    """A summary of the catalog as columns and rows, a row a sub-family."""
    columns = ("family", "sub-family", "clusters", "configurations", "parametric", "samples")
    rows = [
        (family, name, entry["clusters"], entry["configurations"], entry["parametric"], entry["samples"])
        for family, content in counts["families"].items()
        for name, entry in content["sub_families"].items()
    ]
    return columns, rows


def read_manifest(project: Project, name: str) -> dict:
    """One manifest of a dataset root.

    Raises:
        NotPulledError: it is absent.
    """
    path = project.manifests / name
    if not path.is_file():
        raise NotPulledError(f"{path} is missing; `dvc pull {path.name}` brings a published one, `dvc repro` makes it")
    return json_module.loads(path.read_text(encoding="utf-8"))


def known_clusters(context: typer.Context, root: Path | None) -> dict[int, str]:
    """{configuration id: cluster} of a dataset root; empty outside a project and before the cluster stage."""
    try:
        content = read_manifest(project_of(context, root), "clusters.json")
    except InputError:
        return {}
    return {case: name for name, cluster in content["clusters"].items() for case in cluster["cases"]}
