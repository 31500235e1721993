"""The whole pipeline in a temporary clone: a few configurations measured for real, two predictors, two protocols."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.pipeline, pytest.mark.timeout(900)]


def dvc(clone: Path, *arguments: str) -> str:
    """Run dvc in the clone with this environment's interpreter first on the path; return what it printed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "DVC_NO_ANALYTICS": "1", "PYTHONPATH": str(clone / "src")}
    environment.pop("DVC_ROOT", None)
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A repository with this tree's files, a catalog of five small configurations and a matrix of two predictors, of which one is exported."""
    target = tmp_path_factory.mktemp("clone")
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in tracked.stdout.split("\0"):
        if name and not name.startswith(("published/", "docs/", "tests/")) and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    (target / "dvc.lock").unlink(missing_ok=True)
    parameters = yaml.safe_load((target / "params.yaml").read_text())
    parameters["catalog"] |= {"configurations": [408, 409, 601, 602, 603], "samples_per_configuration": 2}
    parameters["profile"] |= {"time_budget_s": 0.05, "max_repeats": 5}
    (target / "params.yaml").write_text(yaml.safe_dump(parameters))
    pipeline = yaml.safe_load((target / "dvc.yaml").read_text())
    pipeline["stages"]["train"]["matrix"] = {
        "predictor": ["linear", "additive_roofline"],
        "protocol": ["random", "cluster"],
    }
    (target / "dvc.yaml").write_text(yaml.safe_dump(pipeline))
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    return target


def test_the_pipeline_runs_end_to_end_and_a_second_run_does_nothing(clone):
    dvc(clone, "repro")
    assert "cluster" in (clone / "reports" / "comparison.md").read_text()
    metrics = json.loads((clone / "reports" / "metrics.json").read_text())
    assert metrics["linear"]["mape/random"] > 0
    assert (clone / "mlruns" / "mlflow.db").is_file()
    assert (clone / "champion" / "champion.onnx").is_file()
    again = dvc(clone, "repro")
    assert "Running stage" not in again and "up to date" in again
