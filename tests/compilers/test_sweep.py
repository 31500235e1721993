"""Real sweeps of tiny layers: killed, resumed, two at once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nnirp.compilers.configuration import load_grid
from nnirp.compilers.places import place_of
from nnirp.compilers.rows import blank, read_row, read_rows, row_files
from nnirp.compilers.sweep import prepare_sweep, sweep
from nnirp.errors import InputError, MissingDependencyError

HERE = Path(__file__).parent
RUNS = 6
STARTED_S = 400  # on a machine that others keep busy
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(autouse=True)
def own_package(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE.parents[1] / "src"))


@pytest.fixture
def tiny():
    return load_grid(HERE / "tiny.yaml")


@pytest.fixture
def place(tmp_path):
    return place_of(tmp_path / "benchmarks", tmp_path / ".work", "cpu")


def start(root):
    command = [
        sys.executable,
        "-m",
        "nnirp.cli",
        "--project",
        str(HERE.parents[1]),
        "compilers",
        "sweep",
        "cpu",
        "identity",
    ]
    more = ["--grid", str(HERE / "tiny.yaml"), "--root", str(root), "--json"]
    return subprocess.Popen([*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_killed_sweep_goes_on_and_measures_nothing_twice(tmp_path, tiny, place):
    first = start(tmp_path)
    deadline = time.monotonic() + STARTED_S
    while not list(row_files(place.folder)) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    before = {path: path.stat().st_mtime_ns for path in row_files(place.folder)}
    assert 0 < len(before) < RUNS, f"{len(before)} rows when it was killed"
    assert all(read_row(path)["status"] == "ok" for path in before)
    (place.folder / "identity" / "half.csv.draft").write_text("device,comp")
    steps = prepare_sweep(place, tiny, ["identity"])
    summary = sweep(place, tiny, steps)
    assert summary.measured == {"ok": RUNS - len(before)} and summary.remaining == 0
    rows = read_rows(place.folder)
    assert len(rows) == len({row["run"] for row in rows}) == RUNS
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert not list(place.folder.rglob("*.draft")) and not list(place.work.glob("process-*"))
    again = prepare_sweep(place, tiny, ["identity"])
    assert not any(step.samples for step in again) and sum(step.present for step in again) == RUNS


def test_two_sweeps_at_once_share_the_runs(tmp_path, place):
    both = [start(tmp_path) for _ in range(2)]
    answers = [process.communicate(timeout=2 * STARTED_S) for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    measured = [sum(json.loads(out)["measured"].values()) for out, _ in answers]
    assert sum(measured) == RUNS, measured
    rows = read_rows(place.folder)
    assert len({row["run"] for row in rows}) == len(rows) == RUNS
    assert all(row["status"] == "ok" and row["repeats"] >= 2 and row["throughput"] > 0 for row in rows)


def test_failed_runs_are_retried_only_when_asked(tiny, place):
    (step, *_) = prepare_sweep(place, tiny, ["identity"], quick=True)
    lost = blank(device="cpu", compiler="identity", run=step.samples[0].name, batch=1, status="timeout", error="slow")
    place.write(lost | {"experiment": "fully_connected", "model": step.model.name, "started": "before"})
    (kept, *_) = prepare_sweep(place, tiny, ["identity"], quick=True)
    assert not kept.samples and kept.present == 1
    (again, *_) = prepare_sweep(place, tiny, ["identity"], quick=True, retry_failed=True)
    assert sweep(place, tiny, [again], retry_failed=True).measured == {"ok": 1}
    assert place.read("identity", step.samples[0].name)["status"] == "ok"


def test_a_budget_that_is_spent_begins_no_run(tiny, place):
    steps = prepare_sweep(place, tiny, ["identity"])
    summary = sweep(place, tiny, steps, budget_minutes=1e-9)
    assert summary.measured == {} and summary.remaining == RUNS


def test_what_cannot_run_here_is_refused_before_anything_is_measured(tiny, place):
    with pytest.raises(InputError, match="not on cuda"):
        prepare_sweep(place, tiny, ["identity", "openvino"], device="cuda")
    with pytest.raises(InputError, match="expected one of identity"):
        prepare_sweep(place, tiny, ["glow"])
    with pytest.raises(InputError, match="named twice"):
        prepare_sweep(place, tiny, ["identity", "identity"])
    with pytest.raises(InputError, match="nnirp compilers list"):
        prepare_sweep(place, tiny, ["identity"], ["transformers"])
    with pytest.raises(InputError, match="label"):
        place_of(place.folder, place.work, "../x")
    with pytest.raises(MissingDependencyError, match="NVIDIA's TensorRT"):
        prepare_sweep(place, tiny, ["identity", "tensorrt"])
    assert not place.folder.exists()
