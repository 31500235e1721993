"""The profiler beside `torch.utils.benchmark.Timer`: resnet18 and bert-base at batch 1, alternately on the same core.

    python benchmarks/timer_agreement.py

Each alternation measures both models by a campaign of their own and, with the same core, threads, priority and OpenMP settings, by
torch's timer in a fresh process; which goes first changes every time. Compared are the medians over all repeats.
The timer runs twice: with the allocator as the profiler sets it (glibc's mmap threshold at its ceiling, where a process that has freed a
large block has it), which is the comparison; and with the allocator of a process that has just begun, where large activations are mapped
and unmapped in every call: that column says what the setting is worth.
The first line of the answer has the machine; the noise of the machine is in the columns of the single alternations.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from machine import describe, markdown
from nnirp.catalog import Catalog, load_catalog
from nnirp.layers.archives import iter_archive
from nnirp.profiling.process import thread_environment
from nnirp.profiling.settings import ProfileSettings

MODELS = ("resnet18", "google-bert/bert-base-uncased")
TARGET = 0.03
BY_TIMER = """
import json, sys
from nnirp.profiling.settings import ProfileSettings
from nnirp.profiling.worker import pin, raise_priority
from nnirp.profiling.monitors.memory import saturate_mmap_threshold
seconds = float(sys.argv[2])
pin(ProfileSettings()), raise_priority()
if sys.argv[3] == "as the profiler":
    saturate_mmap_threshold()
import torch
from torch.utils.benchmark import Timer
from nnirp.catalog import Catalog, build
torch.set_num_threads(1)
found = {}
for configuration in Catalog.from_json(sys.argv[1]).configurations:
    (sample,) = configuration.samples
    built = build(configuration, sample)
    with torch.inference_mode():
        timer = Timer("module(**inputs)", globals={"module": built.module, "inputs": built.inputs}, num_threads=1)
        timer.timeit(3)
        found[sample.name] = [1e3 * time for time in timer.blocked_autorange(min_run_time=seconds).times]
print(json.dumps(found))
"""


def the_two() -> Catalog:
    """Both models at batch 1 in float32, at their largest size with that batch."""
    catalog, kept = load_catalog("full"), []
    for configuration in catalog.configurations:
        if configuration.name in MODELS:
            samples = [s for s in configuration.samples if s.batch == 1 and s.precision == "fp32"]
            kept.append(replace(configuration, samples=(max(samples, key=lambda s: s.size),)))
    return replace(catalog, configurations=tuple(kept))


def by_profiler(catalog: Path, seconds: float, folder: Path) -> dict[str, list[float]]:
    """Raw times in milliseconds by sample, from `python -m nnirp.profiling`, which is what `nnirp profile` runs."""
    limits = (
        "retest_fraction=0",
        "max_attempts=1",
        "floor_tolerance=0",
        "max_repeats=10000",
        f"time_budget_s={seconds}",
    )
    settings = [part for limit in limits for part in ("--set", limit)]
    command = [sys.executable, "-m", "nnirp.profiling", str(catalog), str(folder / "profiling"), *settings]
    subprocess.run(command, check=True, capture_output=True)
    records = [json.loads(d) for p in (folder / "profiling").glob("*.tar.gz") for _, d in iter_archive(p)]
    return {record["_meta"]["sample"]: record["_meta"]["times_ms"] for record in records}


def by_timer(catalog: Path, seconds: float, allocator: str) -> dict[str, list[float]]:
    """Raw times in milliseconds by sample, from torch's timer; `allocator` is `as the profiler` or `fresh`."""
    environment = {**os.environ, **thread_environment(ProfileSettings())}
    command = [sys.executable, "-c", BY_TIMER, str(catalog), str(seconds), allocator]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Alternate, print a row a model, and say whether the medians agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--alternations", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6.0, help="timed seconds a model and measurement")
    arguments = parser.parse_args()
    ours: dict[str, list[list[float]]] = {}
    theirs: dict[str, list[list[float]]] = {}
    fresh: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        catalog = Path(scratch) / "catalog.json"
        catalog.write_text(the_two().to_json(), encoding="utf-8")
        for number in range(arguments.alternations):
            turns = [
                (ours, lambda n=number: by_profiler(catalog, arguments.seconds, Path(scratch) / str(n))),
                (theirs, lambda: by_timer(catalog, arguments.seconds, "as the profiler")),
                (fresh, lambda: by_timer(catalog, arguments.seconds, "fresh")),
            ]
            for found, run in turns if number % 2 else reversed(turns):
                for sample, times in run().items():
                    found.setdefault(sample, []).append(times)
    rows, agreeing = [], True
    for sample, runs in sorted(ours.items()):
        medians = [[statistics.median(times) for times in found] for found in (runs, theirs[sample])]
        total = [statistics.median([time for times in found for time in times]) for found in (runs, theirs[sample])]
        least = [min(min(times) for times in found) for found in (runs, theirs[sample])]
        difference = total[0] / total[1] - 1
        agreeing &= abs(difference) <= TARGET
        single = [", ".join(f"{value:.1f}" for value in values) for values in medians]
        figures = (
            f"{total[0]:.2f}",
            f"{total[1]:.2f}",
            f"{100 * difference:+.1f} %",
            f"{100 * (least[0] / least[1] - 1):+.1f} %",
            f"{100 * (total[0] / statistics.median([t for times in fresh[sample] for t in times]) - 1):+.1f} %",
        )
        rows.append((sample, *figures, *single))
    header = (
        "sample",
        "profiler ms",
        "Timer ms",
        "medians",
        "minima",
        "medians, fresh allocator",
        "profiler, each ms",
        "Timer, each ms",
    )
    print(describe(("torch", "timm", "transformers")))
    print(markdown(header, rows))
    print(f"medians within {100 * TARGET:.0f} %: {'reached' if agreeing else 'missed'}")


if __name__ == "__main__":
    main()
