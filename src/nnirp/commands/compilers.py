"""`nnirp compilers`: measure graph compilers, and say what they are worth."""

from collections import defaultdict
from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import Json, Root, project_of
from nnirp.commands.importing import importing, show_summary
from nnirp.commands.output import emit_json, emit_table

compilers = typer.Typer(
    help="Measure graph compilers over models and batch sizes, and compare them.", no_args_is_help=True
)

Quick = Annotated[bool, typer.Option("--quick", help="Batch sizes 1 and 8 only.")]
Retry = Annotated[bool, typer.Option("--retry-failed", help="Measure runs again whose row says that they failed.")]
Tiers = Annotated[int | None, typer.Option(min=1, help="This many tiers of each experiment; all by default.")]
Plan = Annotated[
    bool, typer.Option("--plan", help="Show order, number of runs and estimated minutes, and measure nothing.")
]
Budget = Annotated[
    float | None, typer.Option(min=0.1, help="Begin no run after this long; the same command goes on later.")
]
On = Annotated[str | None, typer.Option("--on", help="cpu, cuda or cuda:N instead of what the compilers' files say.")]
GridFile = Annotated[Path | None, typer.Option("--grid", help="Another file of experiments.")]
Settings = Annotated[
    Path | None, typer.Option(exists=True, file_okay=False, help="Another folder with a settings file a compiler.")
]


def register(app: typer.Typer) -> None:
    app.add_typer(compilers, name="compilers")


@compilers.command("list")
def list_(
    context: typer.Context, root: Root = None, grid: GridFile = None, settings: Settings = None, json: Json = False
) -> None:
    """Show experiments, compilers with what they lack here, and the runs that are there."""
    from nnirp.compilers.configuration import load_grid
    from nnirp.compilers.grid import models_of
    from nnirp.compilers.sweep import compilers_here, runs_here

    content = load_grid(grid)
    models = models_of(content)
    experiments = [
        {
            "experiment": name,
            "models": sum(model.experiment == name for model in models),
            "runs": sum(len(model.samples) for model in models if model.experiment == name),
            "what": experiment.what,
        }
        for name, experiment in content.experiments.items()
    ]
    here, present = compilers_here(settings), runs_here(project_of(context, root).data / "benchmarks")
    if json:
        emit_json({"experiments": experiments, "compilers": here, "runs": present})
        return
    emit_table("experiments", ("experiment", "models", "runs", "what"), [e.values() for e in experiments])
    rows = [
        (c["name"], c["device"], c["precision"], c["threads"], _pairs(c["options"]), c["state"] or "available")
        for c in here
    ]
    emit_table("compilers", ("compiler", "device", "precision", "threads", "options", "here"), rows)
    if present:
        emit_table("runs", tuple(present[0]), [entry.values() for entry in present])


@compilers.command()
def run(
    context: typer.Context,
    experiment: Annotated[str, typer.Argument(help="One that `nnirp compilers list` shows.")],
    compiler: Annotated[str, typer.Argument(help="One that `nnirp compilers list` shows.")],
    device: Annotated[str, typer.Option(help="Label of the device: the folder of the results.")] = "cpu",
    quick: Quick = False,
    tiers: Tiers = None,
    retry_failed: Retry = False,
    budget_minutes: Budget = None,
    plan: Plan = False,
    on: On = None,
    grid: GridFile = None,
    settings: Settings = None,
    root: Root = None,
    json: Json = False,
) -> None:
    """Measure one experiment with one compiler; runs that are there are passed over."""
    chosen = {"quick": quick, "tiers": tiers, "retry_failed": retry_failed, "settings": settings, "device": on}
    _measure(context, device, [compiler], [experiment], chosen, grid, budget_minutes, plan, root, json)


@compilers.command()
def sweep(
    context: typer.Context,
    device: Annotated[str, typer.Argument(help="Label of the device: the folder of the results.")],
    compiler: Annotated[list[str], typer.Argument(help="Compilers, identity among them for speed-ups.")],
    experiment: Annotated[
        list[str] | None, typer.Option(help="Only this experiment; several times for several.")
    ] = None,
    quick: Quick = False,
    tiers: Tiers = None,
    retry_failed: Retry = False,
    budget_minutes: Budget = None,
    plan: Plan = False,
    on: On = None,
    grid: GridFile = None,
    settings: Settings = None,
    root: Root = None,
    json: Json = False,
) -> None:
    """Measure every experiment with some compilers; a kill loses the runs that were taking turns, the same command goes on."""
    chosen = {"quick": quick, "tiers": tiers, "retry_failed": retry_failed, "settings": settings, "device": on}
    _measure(context, device, compiler, experiment or [], chosen, grid, budget_minutes, plan, root, json)


def _measure(context, label, names, experiments, chosen, grid_file, budget_minutes, plan_only, root, json) -> None:
    from nnirp.compilers.configuration import load_grid
    from nnirp.compilers.places import place_of
    from nnirp.compilers.sweep import prepare_sweep
    from nnirp.compilers.sweep import sweep as measure
    from nnirp.progress import progress

    project, grid = project_of(context, root), load_grid(grid_file)
    place = place_of(project.data / "benchmarks", project.work, label)
    steps = prepare_sweep(place, grid, names, experiments, **chosen)
    if plan_only:
        show_plan(steps, budget_minutes, json)
        return
    with progress("compilers") as report:
        summary = measure(
            place,
            grid,
            steps,
            budget_minutes=budget_minutes,
            retry_failed=chosen["retry_failed"],
            on_progress=report,
        ).to_dict()
    if json:
        emit_json(summary)
        return
    counts = [
        *summary["measured"].items(),
        *((name, summary[name]) for name in ("present", "left_out", "remaining", "seconds")),
    ]
    emit_table("sweep", ("what", "runs"), counts)
    if summary["failed"]:
        emit_table("failed", ("run", "why"), summary["failed"].items())


def show_plan(steps, budget_minutes, json) -> None:
    """A line a tier and experiment in the order of the sweep: runs and estimated minutes a compiler, and minutes until then."""
    from nnirp.compilers.planning import sweep_seconds

    total = sweep_seconds(steps) / 60
    if json:
        emit_json(
            {
                "minutes": total,
                "budget_minutes": budget_minutes,
                "runs": sum(len(step.samples) for step in steps),
                "steps": [
                    {
                        "tier": step.model.tier,
                        "experiment": step.model.experiment,
                        "model": step.model.name,
                        "compiler": step.compiler.name,
                        "runs": [sample.name for sample in step.samples],
                        "present": step.present,
                        "left_out": step.left_out,
                        "minutes": step.seconds / 60,
                    }
                    for step in steps
                ],
            }
        )
        return
    groups = defaultdict(list)
    for step in steps:
        groups[step.model.tier, step.model.experiment].append(step)
    names = list(dict.fromkeys(step.compiler.name for step in steps))
    rows, until = [], 0.0
    for (tier, experiment), own in groups.items():
        minutes = {name: sum(s.seconds for s in own if s.compiler.name == name) / 60 for name in names}
        until += sum(minutes.values())
        counts = (sum(len(s.samples) for s in own), sum(s.present for s in own), sum(len(s.left_out) for s in own))
        rows.append(
            (
                tier,
                experiment,
                len({s.model.name for s in own}),
                *counts,
                *(f"{m:.1f}" for m in minutes.values()),
                f"{until:.0f}",
            )
        )
    columns = (
        "tier",
        "experiment",
        "models",
        "runs",
        "there",
        "left out",
        *names,
        "until",
    )
    emit_table(
        "plan in this order, minutes a compiler; inside an experiment model after model, for each every compiler",
        columns,
        rows,
    )
    reach = f"; {budget_minutes:g} minutes reach as far as the last column says" if budget_minutes else ""
    typer.echo(f"{sum(len(s.samples) for s in steps)} runs, about {total:.0f} minutes on a quiet machine{reach}")


@compilers.command()
def analyze(
    context: typer.Context,
    statistic: Annotated[
        str | None, typer.Option(help="Latency of a run: mean, median, p10 or min of its repeats.")
    ] = None,
    root: Root = None,
    json: Json = False,
) -> None:
    """Write `reports/compilers`: metrics with intervals, rankings that turn, tables, charts, and a run a compiler for MLflow."""
    from nnirp.compilers.report import findings
    from nnirp.errors import InputError
    from nnirp.stages.compilers import run as stage

    if statistic not in (None, "mean", "median", "p10", "min"):
        raise InputError(f"--statistic {statistic}: expected mean, median, p10 or min")
    project = project_of(context, root)
    analysis = stage(project, statistic=statistic)
    found = {device: findings(analysis, device) for device in analysis.runs["device"].unique()}
    if json:
        emit_json({"report": str(project.reports / "compilers"), "findings": found})
        return
    for device, lines in found.items():
        typer.echo(f"{device}:")
        for line in lines:
            typer.echo(f"  {line}")
    typer.echo(f"wrote {project.reports / 'compilers'}")


@compilers.command("import")
def import_(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(help="A CSV file, or a zip of CSV files.")],
    mapping: Annotated[
        Path, typer.Option("--columns", help="A YAML file that says what its columns are; docs/compilers.md.")
    ],
    root: Root = None,
    json: Json = False,
) -> None:
    """Take in traces that others measured, so that they can be analysed beside one's own."""
    from nnirp.compilers.traces import import_traces

    summary = import_traces(source, mapping, project_of(context, root).data / "benchmarks")
    if json:
        emit_json(summary)
        return
    emit_table("imported", ("what", "value"), [(k, v) for k, v in summary.items() if isinstance(v, str | int)])
    if summary["left_out"]:
        emit_table("left out", ("reason", "lines"), summary["left_out"].items())


@importing.command("compilers")
def dataset(
    source: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="data/benchmarks/<device>/<compiler>")],
    output: Annotated[Path, typer.Argument(help="The dataset root to write.")],
    statistic: Annotated[str, typer.Option(help="Label of a run: mean, median or min of its repeats.")] = "median",
    grid: GridFile = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes of the encoder.")] = 1,
    json: Json = False,
) -> None:
    """Turn the runs of one compiler into a dataset root, so that a predictor of that compiler can be trained."""
    from nnirp.compilers.configuration import load_grid
    from nnirp.compilers.dataset import import_runs
    from nnirp.progress import progress

    with progress("import compilers") as report:
        summary = import_runs(source, output, load_grid(grid), statistic=statistic, jobs=jobs, on_progress=report)
    show_summary(output, summary, json)


def _pairs(options: dict) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())
