"""Runs are measured by the profiler's own machinery: a fresh process each, its loop, its calibrations, its limits."""

import contextlib
import shutil
import time
from collections.abc import Callable, Sequence

from nnirp.catalog import Sample
from nnirp.compilers.configuration import Compiler, Measurement
from nnirp.compilers.grid import Model
from nnirp.compilers.places import Place
from nnirp.compilers.rows import MEASURED, Row, common_floor, meta_of, read_rows, row_of
from nnirp.errors import InputError, NnirpError
from nnirp.profiling.calibration import ENOUGH, floor_of
from nnirp.profiling.crew import Crew, SampleFailed
from nnirp.profiling.journal import MAIN
from nnirp.profiling.process import ForkServer
from nnirp.profiling.rounds import calibrations
from nnirp.profiling.schedule import Task
from nnirp.profiling.settings import ProfileSettings
from nnirp.profiling.window import Window
from nnirp.runtimes.options import choosing

BUILD = "nnirp.compilers.models:build"
WARM_UP_SHARE = 0.5  # seconds that the counted warm-ups may take, as a share of the time budget


def profile_settings(compiler: Compiler, measurement: Measurement, preload: Sequence[str] = ()) -> ProfileSettings:
    """How the profiler measures the runs of a compiler: every run in a process of its own, forked with `preload` imported."""
    return ProfileSettings(
        device=compiler.device,
        runtime=compiler.runtime,
        threads=compiler.cores,
        rounds=measurement.rounds,
        min_repeats=measurement.min_repeats,
        max_repeats=max(measurement.repeats, measurement.min_repeats),
        time_budget_s=measurement.time_budget_s,
        patience=measurement.patience,
        floor_tolerance=0.0,  # all repeats are taken, however soon they agree
        timeout_s=measurement.timeout_s,
        memory_limit_gib=measurement.memory_limit_gib,
        drift_threshold=measurement.drift_threshold,
        retest_fraction=0.0,
        max_attempts=1,
        isolation="sample",
        build=BUILD,
        preload=tuple(preload),
    )


class WarmCrew(Crew):
    """A crew whose samples are called `warm_ups` times more before their first round, and which knows what a start costs."""

    warm_ups = 0

    def prepare(self, task: Task) -> dict:
        """As `Crew.prepare`; a process that does not start is the failure of its run."""
        began = time.perf_counter()
        try:
            record = super().prepare(task)
        except InputError:
            raise
        except NnirpError as error:  # a compiler may crash over the first small network that a process is primed with
            raise SampleFailed(task, "crash", str(error).partition("; see ")[0]) from error
        record["_meta"]["seconds"]["prepare"] = time.perf_counter() - began  # the start of the process included
        if self.warm_ups:
            budget_s = WARM_UP_SHARE * self.settings.time_budget_s
            request = {"do": "visit", "sample": task.sample.name, "budget_s": budget_s, "most": self.warm_ups}
            warm = self.ask(task, request)["round"]
            record["_meta"]["warm_up_ms"] += [*warm["warm_up_ms"], *warm["times_ms"]]
        return record


class Session:
    """Measures runs at one place; a fork server a compiler is started when it is first needed.

    Args:
        place: of the results.
        measurement: of the grid.
        preload: modules that the models are built with.
    """

    def __init__(self, place: Place, measurement: Measurement, preload: Sequence[str] = ()) -> None:
        self.place, self.measurement, self.preload = place, measurement, preload
        self.scratch = place.scratch()
        self.stack = contextlib.ExitStack()
        self.servers: dict[str, ForkServer] = {}
        rows = read_rows(place.folder)
        self.calibrations = list(calibrations([meta_of(row) for row in rows if row["status"] == MEASURED]))
        self.floor = common_floor(rows)

    def measure(
        self,
        compiler: Compiler,
        model: Model,
        samples: Sequence[Sample],
        deadline: float,
        done: Callable[[Row], None],
    ) -> None:
        """Measure runs of one model, which take turns, and keep each row as soon as it is complete.

        Args:
            compiler: that compiles them.
            model: of them.
            samples: of the model; a row that is there is replaced.
            deadline: in the time of `time.monotonic`; what has not begun by then is left.
            done: told of every row.

        Raises:
            InputError: see `Place.identify`.
            NnirpError: the measuring process does not start.
        """
        settings = profile_settings(compiler, self.measurement, self.preload)

        def finished(_: Task, record: dict) -> None:
            row = row_of(record, model, compiler.name, self.place.label, self.measurement, self.floor)
            self.place.write(row)
            done(row)

        def identify(fingerprint: dict) -> None:
            self.place.identify(compiler, self.measurement, fingerprint)

        server = self._server(compiler, settings)
        window = Window(settings, server, lambda: self.floor, self._seen, finished, identify)
        crew = WarmCrew(settings, server, identify)
        crew.warm_ups = self.measurement.warm_ups
        window.crew = window.pulse.crew = crew
        window.run([Task(MAIN, model.configuration, sample) for sample in samples], deadline)

    def _server(self, compiler: Compiler, settings: ProfileSettings) -> ForkServer:
        if compiler.name not in self.servers:
            chosen = dict(compiler.options)
            if chosen.get("timing_cache"):
                chosen["timing_cache"] = str(self.place.folder.resolve() / compiler.name / chosen["timing_cache"])
            with choosing(chosen):
                server = ForkServer(settings, self.scratch / compiler.name)
            self.servers[compiler.name] = self.stack.enter_context(server)
        return self.servers[compiler.name]

    def _seen(self, calibration: dict[str, float]) -> None:
        self.calibrations.append(calibration)
        if len(self.calibrations) % ENOUGH == 0 or self.floor is None:
            self.floor = floor_of(self.calibrations)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
