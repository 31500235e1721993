import pytest

from nnirp.tracking.campaign import record_families, row
from nnirp.tracking.record import FILE_NAME, RunRecord, read_record


def measured(sample, family, status="ok"):
    meta = {
        "sample": sample,
        "family": family,
        "status": status,
        "batch": 2,
        "moment": {"rounds": 12, "good_rounds": 11},
    }
    runtime = {"count": 40, "min": 1.0, "p10": 1.1, "median": 1.2, "mean": 1.3} if status == "ok" else None
    return {"Runtime (ms)": runtime, "Peak RAM (MB)": {"median": 5.0} if runtime else None, "_meta": meta}


def test_a_row_holds_what_was_measured_and_none_for_the_rest():
    found = row(measured("a", "recurrent"))
    assert (found["runtime_p10_ms"], found["peak_ram_mb"], found["good_rounds"]) == (1.1, 5.0, 11)
    assert found["energy_j"] is found["compile_ms"] is None
    assert row(measured("a", "recurrent", "timeout"))["runtime_min_ms"] is None


def test_a_campaign_of_many_samples_is_one_run_a_family(tmp_path, store):
    parquet = pytest.importorskip("pyarrow.parquet")
    records = [measured(f"{family}-{n}", family) for family in ("recurrent", "detection") for n in range(30)]
    records.append(measured("broken", "detection", "crash"))
    noise = {"runtime_by_family": {"recurrent": {"min": {"median": 0.01, "p90": 0.02, "count": 3}}}}
    campaign = RunRecord(kind="profile", name="eager on cpu", tags={"device": "a processor"})
    folders = record_families(tmp_path / "campaign", records, campaign, noise, store)
    assert [folder.name for folder in folders] == ["detection", "recurrent"]
    runs = store.client.search_runs([store.client.get_experiment_by_name("1 profiling campaigns").experiment_id])
    assert len(runs) == 2
    detection, recurrent = (read_record(folder / FILE_NAME) for folder in folders)
    assert detection.parent == campaign.id
    assert detection.metrics["status/crash"] == 1
    assert recurrent.metrics["retest_p90/min"] == 0.02
    assert parquet.read_table(folders[0] / "rows.parquet").num_rows == 31
    assert store.sync([tmp_path / "campaign"])["unchanged"] == 2
