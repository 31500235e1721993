"""A sweep: runs without a row are measured, step after step; a kill at any moment loses the runs that were taking turns."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nnirp.compilers.configuration import Grid, compiler_names, load_compiler
from nnirp.compilers.grid import Model, models_of
from nnirp.compilers.measuring import Session
from nnirp.compilers.places import Place
from nnirp.compilers.planning import Step, failed, plan, sweep_seconds
from nnirp.compilers.rows import MEASURED, Row
from nnirp.errors import InputError
from nnirp.runtimes import load as load_runtime
from nnirp.runtimes import require

log = logging.getLogger(__name__)
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class SweepSummary:
    """What one sitting of a sweep came to.

    Attributes:
        measured: runs of this sitting, by status.
        failed: run of this sitting → `compiler: status: error`.
        present: runs that had a row before.
        left_out: runs that the settings of their compiler exclude.
        remaining: runs that are still to be measured.
        seconds: wall time.
    """

    measured: dict[str, int]
    failed: dict[str, str]
    present: int
    left_out: int
    remaining: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


def prepare_sweep(
    place: Place,
    grid: Grid,
    compilers: Sequence[str],
    experiments: Sequence[str] = (),
    *,
    quick: bool = False,
    tiers: int | None = None,
    retry_failed: bool = False,
    settings: Path | None = None,
    device: str | None = None,
) -> list[Step]:
    """The steps of a sweep, after checking that every compiler can be used here.

    Args:
        place: of the results.
        grid: of experiments.
        compilers: names, in the order they take for each model; the baseline is best the first.
        experiments: of these only; all where empty.
        quick: at the quick batches only.
        tiers: this many of each experiment.
        retry_failed: see `plan`.
        settings: folder of the compilers' files; the package's by default.
        device: `cpu`, `cuda` or `cuda:N` instead of what the files say.

    Raises:
        InputError: a name is unknown, a compiler twice, or it does not run on the device.
        MissingDependencyError: a compiler is not installed; the message holds the line that installs it.
    """
    if repeated := [name for name, count in Counter(compilers).items() if count > 1]:
        raise InputError(f"compiler {repeated[0]} is named twice; name each once")
    chosen = [load_compiler(name, settings, device) for name in compilers]
    for compiler in chosen:
        require(compiler.runtime, compiler.device)
    models: dict[str, list[Model]] = {
        precision: models_of(grid, experiments, quick=quick, tiers=tiers, precision=precision)
        for precision in {compiler.precision for compiler in chosen}
    }
    if len(models) > 1:
        raise InputError("the compilers' files name several precisions; sweep one precision at a time")
    (same,) = models.values()
    return plan(same, chosen, place, grid.measurement, retry_failed=retry_failed)


def sweep(
    place: Place,
    grid: Grid,
    steps: Sequence[Step],
    *,
    budget_minutes: float | None = None,
    retry_failed: bool = False,
    on_progress: Progress = lambda *_: None,
) -> SweepSummary:
    """Measure the steps; two sweeps on one place take turns, and neither measures what the other has.

    Args:
        place: of the results.
        grid: that the steps are of.
        steps: see `prepare_sweep`.
        budget_minutes: runs that have not begun by then are left; the same call goes on.
        retry_failed: replace rows that say a run failed, if they did so when the sweep began.
        on_progress: called with the runs done, their number, and a note with the time left.

    Raises:
        InputError: the place holds runs of another machine or of other settings.
        NnirpError: a measuring process does not start.
    """
    started = time.monotonic()
    deadline = started + 60 * budget_minutes if budget_minutes else float("inf")
    total = sum(len(step.samples) for step in steps)
    old = {(r["compiler"], r["run"]): r["started"] for r in _failures(place, steps)} if retry_failed else {}
    rows: list[Row] = []
    done, left = 0, 0.0

    def keep(row: Row) -> None:
        nonlocal done
        rows.append(row)
        done += 1
        if failed(row):
            log.warning("%s with %s: %s: %s", row["run"], row["compiler"], row["status"], row["error"])
        spent = time.monotonic() - started
        on_progress(done, total, f"{row['compiler']}, {spent / 60:.0f} min, about {left / 60:.0f} min left")

    libraries = {step.model.configuration.library for step in steps if step.samples}
    preload = ("timm", "torchvision") if "timm" in libraries else ()
    with Session(place, grid.measurement, preload) as session:
        for number, step in enumerate(steps):
            if not step.samples or time.monotonic() >= deadline:
                continue
            with place.locked():
                missing = [s for s in step.samples if _is_missing(place, step.compiler.name, s.name, old)]
                done += len(step.samples) - len(missing)
                left = sweep_seconds(steps[number + 1 :])
                if missing:
                    session.measure(step.compiler, step.model, missing, deadline, keep)
    present = {
        (step.compiler.name, s.name)
        for step in steps
        for s in step.samples
        if place.path(step.compiler.name, s.name).exists()
    }
    return SweepSummary(
        measured=dict(sorted(Counter(row["status"] for row in rows).items())),
        failed={row["run"]: f"{row['compiler']}: {row['status']}: {row['error']}" for row in rows if failed(row)},
        present=sum(step.present for step in steps),
        left_out=sum(len(step.left_out) for step in steps),
        remaining=total - len(present),
        seconds=time.monotonic() - started,
    )


def _is_missing(place: Place, compiler: str, run: str, old: dict[tuple[str, str], Any]) -> bool:
    row = place.read(compiler, run)
    return row is None or ((compiler, run) in old and failed(row) and row["started"] == old[compiler, run])


def _failures(place: Place, steps: Sequence[Step]) -> list[Row]:
    found = (place.read(step.compiler.name, sample.name) for step in steps for sample in step.samples)
    return [row for row in found if row and failed(row)]


def compilers_here(settings: Path | None = None) -> list[dict[str, Any]]:
    """Every compiler with its settings, and whether it can be used here: `state` is empty or says what is missing."""
    found = []
    for name in compiler_names(settings):
        compiler = load_compiler(name, settings)
        able, reason = load_runtime(compiler.runtime).available()
        if able and compiler.device != "cpu":
            import torch

            able = torch.cuda.is_available()
            reason = "" if able else "no GPU here"
        found.append({**compiler.model_dump(mode="json", exclude={"planning"}), "state": "" if able else reason})
    return found


def runs_here(folder: Path) -> list[dict[str, Any]]:
    """Rows under `data/benchmarks`, counted by device, compiler and experiment."""
    from nnirp.compilers.rows import read_rows

    counts: dict[tuple[str, str, str], Counter] = {}
    for row in read_rows(folder):
        counts.setdefault((row["device"], row["compiler"], row["experiment"]), Counter())[row["status"]] += 1
    return [
        {"device": d, "compiler": c, "experiment": e, "measured": n[MEASURED], "failed": n.total() - n[MEASURED]}
        for (d, c, e), n in sorted(counts.items())
    ]
