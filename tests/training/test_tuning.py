import json
import subprocess
import sys

import numpy as np
import pytest

from nnirp.errors import InputError
from nnirp.layers.archives import write_archive
from nnirp.layers.samples import dump_sample
from nnirp.layers.store import pack
from nnirp.predictors import create
from nnirp.splits.index import Fold, Index, read_index, write_index
from nnirp.tracking.record import read_record
from nnirp.tracking.store import Store
from nnirp.training import study, tuning
from nnirp.training.matrix import subset


@pytest.fixture
def root(store, tmp_path):
    """A dataset root whose test samples are absent, so that reading them would fail."""
    names = store.samples["sample"].tolist()
    samples = {f"{name}.pt.zst": dump_sample(store.graph(i), level=1) for i, name in enumerate(names)}
    write_archive(tmp_path / "pyg-features" / "1.tar.gz", samples.items())
    folds = (Fold("0", tuple(names[:28]), tuple(names[28:40]), ("absent-1", "absent-2")),)
    write_index(Index("random", folds), tmp_path / "splits" / "random.json")
    return tmp_path


def search(root, predictor="mlp", trials=3, **options):
    fixed = {"max_epochs": 6} if predictor == "mlp" else None
    storage = f"sqlite:///{root / 'study.db'}"
    return tuning.tune(
        root, predictor, "random", root / "out", trials=trials, storage=storage, root=root, fixed=fixed, **options
    )


def test_the_best_of_a_study_is_no_worse_than_the_defaults_and_can_be_trained(root):
    best = search(root)
    assert best["trials"] == {"complete": 3} and best["validation_error_log2"] <= best["default"]
    model = create("mlp", **tuning.read_settings(root / "out" / tuning.BEST, "mlp"))
    fold = read_index(root / "splits" / "random.json").folds[0]
    train, val = (subset(pack(root), fold.part(part), "random", fold) for part in ("train", "val"))
    model.fit(train, val, seed=0)
    np.testing.assert_allclose(tuning.validation_error(model, val), best["validation_error_log2"], rtol=1e-4)
    records = [read_record(path) for path in sorted((root / "out" / "trials").rglob("run.json"))]
    assert [r.kind for r in records] == ["tune"] * 3 and all("fold 0/loss" in r.curves for r in records)


def test_a_trial_that_is_given_up_is_recorded_as_pruned_and_a_study_goes_on(root, monkeypatch):
    import optuna

    search(root, trials=1)
    monkeypatch.setattr(optuna.trial.Trial, "should_prune", lambda self: True)
    assert search(root, trials=1)["trials"] == {"complete": 1, "pruned": 1}
    assert read_record(root / "out" / "trials" / "0001" / "run.json").status == "pruned"


KILLED = """
import os, signal
from pathlib import Path
from nnirp.tracking.store import Store
from nnirp.training import tuning
root = Path({root!r})
tuning._trial_error = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
tuning.tune(root, "mlp", "random", root / "out", trials=1, storage=f"sqlite:///{{root / 'study.db'}}", root=root, store=Store(root))
"""


def test_two_processes_go_on_after_a_killed_one_and_mlflow_has_the_states_of_the_study(root, monkeypatch):
    import optuna

    done = subprocess.run([sys.executable, "-W", "ignore", "-c", KILLED.format(root=str(root))], timeout=500)
    assert done.returncode == -9
    assert read_record(root / "out" / "trials" / "0000" / "run.json").status == "running"
    with monkeypatch.context() as patched:  # a process that lives may be late by more than that on a busy machine
        patched.setattr(study, "GRACE_S", 1)
        best = search(root, trials=1, store=Store(root))
    assert best["trials"] == {"complete": 1, "fail": 1}
    assert read_record(root / "out" / "trials" / "0000" / "run.json").error == "the process was killed"
    search(root, trials=2, processes=2, store=Store(root))
    states = {
        t.number: t.state.name
        for t in optuna.load_study(study_name=None, storage=f"sqlite:///{root / 'study.db'}").trials
    }
    assert sorted(states) == list(range(4)) and states[0] == "FAIL"
    client = Store(root).client
    experiments = [e.experiment_id for e in client.search_experiments()]
    runs = client.search_runs(experiments, filter_string="tags.kind = 'tune'")
    names = {"FINISHED": "COMPLETE", "KILLED": "PRUNED", "FAILED": "FAIL"}
    assert {int(run.data.params["trial"]): names[run.info.status] for run in runs} == states
    assert len({run.data.params["seed"] for run in runs}) == 1


def test_what_has_nothing_to_tune_or_no_settings_is_refused(root):
    with pytest.raises(InputError, match="no settings to tune"):
        search(root, predictor="constant")
    path = root / "other.json"
    path.write_text(json.dumps({"settings": {"dippm": {}}}))
    with pytest.raises(InputError, match="holds no settings of mlp"):
        tuning.read_settings(path, "mlp")
