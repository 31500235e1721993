import pytest

from nnirp.tracking.record import read_record, write_record
from nnirp.tracking.run import start_run
from nnirp.tracking.store import RECORD_TAG, Store

TAGS = {"protocol": "cluster", "predictor": "linear", "seed": "0"}


def runs(store):
    return store.client.search_runs(
        [e.experiment_id for e in store.client.search_experiments()], filter_string="tags.predictor = 'linear'"
    )


def make(folder, store=None):
    with start_run("train", "linear cluster", folder, parameters={"epochs": 2}, tags=TAGS, store=store) as run:
        for step in range(3):
            run.log("loss", 1.0 / (step + 1), step)
        run.metrics({"mape": 0.2, "undefined": float("nan")})


def test_sync_brings_parameters_metrics_curves_and_tags(store, tmp_path):
    make(tmp_path / "models" / "a")
    assert store.sync([tmp_path / "models"])["added"] == 1
    (run,) = runs(store)
    assert run.data.params == {"epochs": "2"}
    assert run.data.metrics["mape"] == 0.2 and "undefined" not in run.data.metrics
    assert [m.value for m in store.client.get_metric_history(run.info.run_id, "loss")] == [1.0, 0.5, 1 / 3]
    assert run.info.status == "FINISHED"


def test_sync_twice_changes_nothing(store, tmp_path):
    make(tmp_path / "models" / "a")
    store.sync([tmp_path / "models"])
    assert store.sync([tmp_path / "models"])["unchanged"] == 1
    assert len(runs(store)) == 1


def test_a_live_run_is_not_added_again(store, tmp_path):
    make(tmp_path / "models" / "a", store)
    assert store.sync([tmp_path / "models"]) == {"added": 0, "replaced": 0, "unchanged": 1, "unreadable": 0}
    (run,) = runs(store)
    assert len(store.client.get_metric_history(run.info.run_id, "loss")) == 3


def test_a_changed_record_replaces_its_run(store, tmp_path):
    make(tmp_path / "models" / "a")
    store.sync([tmp_path / "models"])
    record = read_record(tmp_path / "models" / "a" / "run.json")
    record.metrics["mape"] = 0.1
    write_record(record, tmp_path / "models" / "a")
    assert store.sync([tmp_path / "models"])["replaced"] == 1
    (run,) = runs(store)
    assert run.data.metrics["mape"] == 0.1 and run.data.tags[RECORD_TAG] == record.id


def test_a_failure_is_recorded_and_raised(store, tmp_path):
    folder = tmp_path / "models" / "b"
    with pytest.raises(ZeroDivisionError), start_run("train", "x", folder, parameters={}, tags=TAGS, store=store):
        raise ZeroDivisionError("no")
    assert read_record(folder / "run.json").status == "failed"
    (run,) = runs(store)
    assert run.info.status == "FAILED"


def test_a_store_that_is_down_fails_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    make(tmp_path / "models" / "a", Store(tmp_path, "http://127.0.0.1:9"))
    assert read_record(tmp_path / "models" / "a" / "run.json").status == "finished"


def test_an_unreadable_record_is_counted_and_the_rest_goes_on(store, tmp_path):
    make(tmp_path / "models" / "a")
    (tmp_path / "models" / "b").mkdir()
    (tmp_path / "models" / "b" / "run.json").write_text("{")
    counts = store.sync([tmp_path / "models"])
    assert counts["added"] == 1 and counts["unreadable"] == 1
