import shutil
import sys
from pathlib import Path

import pytest

from nnirp.cli import app, guarded

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "prediction"))  # small_models


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with the project's own dvc.yaml and params.yaml and nothing else, as the current folder."""
    monkeypatch.delenv("DVC_ROOT", raising=False)
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def nnirp(capsys, monkeypatch):
    """Run a command line in this process: `nnirp("predict", path)` → (exit code, standard output, standard error)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["nnirp", *map(str, arguments)])
        try:
            code = guarded(app)
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
