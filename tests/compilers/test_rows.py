import pytest

from nnirp.compilers.configuration import load_compiler
from nnirp.compilers.grid import models_of
from nnirp.compilers.measuring import profile_settings
from nnirp.compilers.rows import common_floor, judged, kept_rounds, meta_of, read_row, row_of, write_row
from nnirp.errors import InputError
from nnirp.profiling.record import blank_record, failed_record

QUIET, LOUD = {"matmul_ms": 1.0, "copy_ms": 2.0}, {"matmul_ms": 1.0, "copy_ms": 3.0}


@pytest.fixture
def model(grid):
    return models_of(grid, ["conv_blocks"])[0]


@pytest.fixture
def record(model, measurement):
    settings = profile_settings(load_compiler("onnxruntime"), measurement)
    found = blank_record(model.configuration, model.samples[1], settings, {"fingerprint": {"digest": "d"}})
    times = [[10.0, 10.2, 9.8], [14.0, 14.0, 14.0], [10.0, 10.1, 9.9], [10.0, 10.0, 10.0]]
    moments = [(QUIET, QUIET), (QUIET, LOUD), (QUIET, QUIET), (QUIET, QUIET)]
    found["_meta"] |= {
        "status": "ok",
        "times_ms": [time for part in times for time in part],
        "rounds": [
            {"count": len(part), "before": before, "after": after, "taken": {"others": 0.0, "stolen": 0.0}}
            for part, (before, after) in zip(times, moments, strict=True)
        ],
        "warm_up_ms": [11.0] * 12,
    }
    found["_meta"]["runtime"] |= {"largest_difference_from_eager": 1e-6, "settings": {}, "compile_ms": 5.0}
    return found


def test_a_row_keeps_every_repeat_and_its_statistics_are_of_the_quiet_rounds(record, model, measurement, tmp_path):
    row = row_of(record, model, "onnxruntime", "cpu", measurement, QUIET)
    assert (row["repeats"], row["kept_repeats"], row["disturbed"]) == (12, 9, False)
    assert row["latency_ms"] == 10.0 and row["throughput"] == pytest.approx(200) and row["settled"]
    write_row(row, tmp_path / "a.csv")
    back = read_row(tmp_path / "a.csv")
    assert meta_of(back)["times_ms"] == record["_meta"]["times_ms"]
    assert kept_rounds(back, measurement, QUIET) == [[10.0, 10.2, 9.8], [10.0, 10.1, 9.9], [10.0, 10.0, 10.0]]
    assert {**back, "settling": 0} == {**row, "settling": 0}


def test_a_lower_floor_that_is_known_later_changes_the_verdict(record, model, measurement):
    row = row_of(record, model, "onnxruntime", "cpu", measurement, None)
    assert row["kept_repeats"] == 12
    assert judged(row, measurement, QUIET)["kept_repeats"] == 9
    assert common_floor([row]) is None  # three calibrations are too few to know it
    disturbed = judged(row, measurement, {"matmul_ms": 0.1, "copy_ms": 0.1})
    assert disturbed["disturbed"] and disturbed["kept_repeats"] == 12


def test_a_broken_compile_is_not_fast(record, model, measurement):
    for difference in (0.5, float("inf"), float("nan")):
        record["_meta"]["runtime"]["largest_difference_from_eager"] = difference
        row = row_of(record, model, "onnxruntime", "cpu", measurement, QUIET)
        assert row["status"] == "wrong" and "differ from eager's" in row["error"]


def test_a_run_that_is_slow_at_first_is_flagged(record, model, measurement):
    record["_meta"]["times_ms"] = [15.0] * 3 + [10.0] * 9
    row = row_of(record, model, "torchscript", "cpu", measurement, None)
    assert row["settling"] == pytest.approx(0.5) and row["settled"] is False


def test_a_failure_is_a_row_with_status_and_error_and_no_figure(model, measurement, tmp_path):
    settings = profile_settings(load_compiler("tvm"), measurement)
    record = failed_record(model.configuration, model.samples[0], settings, {}, "crash", "killed by signal 11: …")
    row = row_of(record, model, "tvm", "cpu", measurement, None)
    assert (row["status"], row["error"], row["latency_ms"]) == ("crash", "killed by signal 11: …", None)
    write_row(row, tmp_path / "a.csv")
    assert read_row(tmp_path / "a.csv") == row


@pytest.mark.parametrize("text", ["", "device\ncpu\n", "not a table", "a,b\n1,2\n3,4\n"])
def test_a_file_that_is_no_row_is_named(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InputError, match=r"x\.csv is not a row"):
        read_row(tmp_path / "x.csv")
