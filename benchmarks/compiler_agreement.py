"""Latencies of the compiler benchmark beside those of others: identity and torch's Timer, onnxruntime and its session's own profile.

    python benchmarks/compiler_agreement.py

Each alternation measures resnet18 at batch 1 by `nnirp compilers run` and, on the same core with the same threads, priority, allocator and OpenMP
settings, by the other in a fresh process; which goes first changes every time. An alternation's figure is the ratio of the two medians, and
the answer is the median of the ratios. ONNX Runtime profiles each `model_run` of the very session options of the runtime; profiling costs
it something a node, which is in its favour to find longer times. The first line of the answer has the machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import describe, markdown
from nnirp.compilers.configuration import load_compiler, load_grid
from nnirp.compilers.grid import models_of
from nnirp.compilers.measuring import profile_settings
from nnirp.compilers.rows import read_rows, repeats_by_round
from nnirp.profiling.process import thread_environment

TARGET = 0.03
COMMON = """
import json, sys
from pathlib import Path
from nnirp.profiling.settings import ProfileSettings
from nnirp.profiling.worker import pin, raise_priority
from nnirp.profiling.monitors.memory import saturate_mmap_threshold
pin(ProfileSettings()), raise_priority(), saturate_mmap_threshold()
import torch
from nnirp.compilers.configuration import load_grid
from nnirp.compilers.grid import models_of
from nnirp.compilers.models import build
torch.set_num_threads(1)
model = next(m for m in models_of(load_grid(Path(sys.argv[1]))))
seconds = float(sys.argv[2])
built = build(model.configuration, model.samples[0])
"""
BY_TIMER = """
from torch.utils.benchmark import Timer
with torch.inference_mode():
    timer = Timer("module(**inputs)", globals={"module": built.module, "inputs": built.inputs}, num_threads=1)
    timer.timeit(15)
    times = [1e3 * time for time in timer.blocked_autorange(min_run_time=seconds).times]
print(json.dumps(times))
"""
BY_SESSION = """
import time, tempfile, onnxruntime
from nnirp.runtimes.onnx_model import onnx_with_weights
path = onnx_with_weights(built.module, built.inputs)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 3
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
options.enable_profiling = True
options.profile_file_prefix = str(path.parent / "profile")
session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
feeds = {entry.name: built.inputs[entry.name].numpy() for entry in session.get_inputs()}
ending = None
calls = 0
while ending is None or time.monotonic() < ending:
    session.run(None, feeds)
    calls += 1
    if calls == 15:
        ending = time.monotonic() + seconds
events = json.loads(Path(session.end_profiling()).read_text())
print(json.dumps([event["dur"] / 1e3 for event in events if event["name"] == "model_run"][15:]))
"""


def one_model_grid(architecture: str, seconds: float, folder: Path) -> Path:
    """The package's grid with one architecture at batch 1, timed for so long."""
    grid = load_grid().model_dump(mode="json")
    grid |= {"batches": [1], "quick_batches": [1]}
    grid["measurement"] |= {"time_budget_s": seconds, "repeats": 10_000}
    grid["experiments"] = {
        "architectures": grid["experiments"]["architectures"] | {"tiers": [{"architecture": [architecture]}]}
    }
    path = folder / "grid.yaml"
    path.write_text(json.dumps(grid), encoding="utf-8")  # which is YAML
    return path


def by_benchmark(compiler: str, grid: Path, folder: Path) -> list[float]:
    """Raw times in milliseconds by `nnirp compilers run`."""
    command = [sys.executable, "-m", "nnirp.cli", "compilers", "run", "architectures", compiler, "--grid", str(grid)]
    subprocess.run([*command, "--root", str(folder)], check=True, capture_output=True)
    (row,) = read_rows(folder)
    return [time for times in repeats_by_round(row) for time in times]


def by_other(program: str, grid: Path, seconds: float) -> list[float]:
    """Raw times in milliseconds by the program in a fresh process."""
    settings = profile_settings(load_compiler("identity"), load_grid(grid).measurement)
    environment = {**os.environ, **thread_environment(settings)}
    command = [sys.executable, "-c", COMMON + program, str(grid), str(seconds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Alternate, print a row a pair, and say whether the medians agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--alternations", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6.0, help="timed seconds of each measurement")
    parser.add_argument("--architecture", default="resnet18")
    arguments = parser.parse_args()
    rows, agreeing = [], True
    with tempfile.TemporaryDirectory() as scratch:
        grid = one_model_grid(arguments.architecture, arguments.seconds, Path(scratch))
        (model,) = models_of(load_grid(grid))
        pairs = (("identity", "torch Timer", BY_TIMER), ("onnxruntime", "session profile", BY_SESSION))
        for compiler, name, program in pairs:
            found: dict[str, list[list[float]]] = {"ours": [], "theirs": []}
            for number in range(arguments.alternations):
                place = Path(scratch) / f"{compiler}-{number}"
                turns = [
                    ("ours", lambda c=compiler, p=place: by_benchmark(c, grid, p)),
                    ("theirs", lambda p=program: by_other(p, grid, arguments.seconds)),
                ]
                for who, run in turns if number % 2 else reversed(turns):
                    found[who].append(run())
            medians = {who: [statistics.median(times) for times in runs] for who, runs in found.items()}
            ratios = [ours / theirs for ours, theirs in zip(medians["ours"], medians["theirs"], strict=True)]
            difference = statistics.median(ratios) - 1
            least = min(map(min, found["ours"])) / min(map(min, found["theirs"])) - 1
            agreeing &= abs(difference) <= TARGET
            single = [", ".join(f"{value:.2f}" for value in medians[who]) for who in ("ours", "theirs")]
            rows.append((compiler, name, f"{100 * difference:+.1f} %", f"{100 * least:+.1f} %", *single))
    print(describe(("torch", "timm", "onnxruntime")))
    print(f"{model.name}, batch 1, {arguments.alternations} alternations of {arguments.seconds:g} s")
    print(markdown(("compiler", "against", "medians", "minima", "ours, each ms", "theirs, each ms"), rows))
    print(f"medians within {100 * TARGET:.0f} %: {'reached' if agreeing else 'missed'}")


if __name__ == "__main__":
    main()
