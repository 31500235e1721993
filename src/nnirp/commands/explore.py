"""`nnirp explore`: search a design space by prediction."""

import time
from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import project_of
from nnirp.commands.output import emit_json, emit_table


def register(app: typer.Typer) -> None:
    app.command()(explore)


def explore(
    context: typer.Context,
    spec: Annotated[Path, typer.Argument(help="A YAML file that describes the design space; see docs/asking.md.")],
    output: Annotated[Path | None, typer.Option(help="A folder for candidates.csv and index.html.")] = None,
    predictor: Annotated[str, typer.Option(help="A trained predictor.")] = "additive_roofline",
    protocol: Annotated[str, typer.Option(help="The split its weights were trained on.")] = "cluster",
    root: Annotated[Path | None, typer.Option(help="A dataset root with models; the project's own by default.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Predict every variant of a model builder, or those a search proposes, and show the Pareto front."""
    from nnirp.prediction.exploration.spec import read_spec
    from nnirp.prediction.kept import find_kept

    space = read_spec(spec)
    project = project_of(context, root)
    kept = find_kept(project.models, project.manifests, predictor, protocol)
    from nnirp.prediction.exploration import search
    from nnirp.prediction.exploration.candidates import Candidates, trace_candidate
    from nnirp.prediction.exploration.output import front_rows, write_csv, write_page
    from nnirp.prediction.exploration.scoring import scorer

    started = time.perf_counter()
    candidates = Candidates(space, trace_candidate(space), kept.form)
    found = search.explore(space, candidates, scorer(kept))
    seconds = time.perf_counter() - started
    counts = candidates.counts
    basis = (
        f"{len(found.candidates)} candidates in {seconds:.0f} s ({60 * len(found.candidates) / seconds:,.0f} a minute): {counts.traced} graphs "
        f"traced, {counts.derived} derived, {counts.equal} checks equal; {kept.rests_on['predictor']} of {kept.rests_on['device']}"
    )
    if output:
        output.mkdir(parents=True, exist_ok=True)
        write_csv(found, output / "candidates.csv")
        write_page(found, space, basis, output / "index.html")
    if json:
        front = [{**found.candidates[i].point, **found.candidates[i].figures} for i in found.front]
        emit_json(
            {"candidates": len(found.candidates), "failed": len(found.failed), "seconds": seconds, "front": front}
        )
        return
    columns, rows = front_rows(found, list(space.objectives))
    emit_table(f"Pareto front: {len(rows)} of {len(found.candidates)} candidates", columns, rows)
    for point, why in found.failed[:3]:
        typer.echo(f"not built: {point}: {why}", err=True)
    for note in counts.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(basis)
    if output:
        typer.echo(f"wrote {output / 'candidates.csv'} and {output / 'index.html'}")
