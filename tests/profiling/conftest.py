import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def importable_models(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{HERE.parents[1] / 'src'}:{HERE}")
    monkeypatch.setattr(sys, "path", [*sys.path, str(HERE)])


@pytest.fixture
def make_sample():
    def make(name, configuration_id=0, **changes):
        fields = {"batch": 1, "size": 4, "size_kind": "seq", "precision": "fp32", "mode": "forward", "arguments": {}}
        return SimpleNamespace(name=name, configuration_id=configuration_id, **{**fields, **changes})

    return make


@pytest.fixture
def make_catalog():
    def make(*configurations):
        fields = {"family": "convolutional", "sub_family": "cnn", "builder": "tiny", "arguments": {}}
        rest = {"library": "nnirp", "model_type": None, "parametric": False}
        return SimpleNamespace(
            configurations=tuple(
                SimpleNamespace(id=number, name=f"tiny-{number}", samples=tuple(samples), **fields, **rest)
                for number, samples in enumerate(configurations)
            )
        )

    return make


@pytest.fixture
def quick():
    """Settings that measure a tiny model in milliseconds."""
    return {
        "build": "tiny_models:build",
        "time_budget_s": 0.01,
        "max_repeats": 8,
        "rounds": 2,
        "preload": (),
        "retest_fraction": 0.0,
        "calibrate": False,
        "contention_threshold": 100.0,
        "max_attempts": 1,
    }
