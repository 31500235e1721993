import pytest

from nnirp.profiling.noise import noise_floor, pair


def record(times, speed, family="recurrent", status="ok"):
    kernel = {"matmul_ms": speed, "copy_ms": 1.0}
    meta = {"status": status, "sample": "s", "family": family, "started": "", "times_ms": times}
    return {"Peak RAM (MB)": {"median": 10.0}, "_meta": {**meta, "calibration": {"before": kernel, "after": kernel}}}


def test_drift_of_the_machine_is_told_from_noise():
    found = pair(record([10.0, 10.0, 10.0], 5.0), record([11.0, 11.0, 11.0], 5.5))
    assert found["relative_difference"]["median"] == pytest.approx(1 / 10.5)
    assert found["drift_corrected_relative_difference"] == pytest.approx(0.0)
    assert found["peak_ram_relative_difference"] == 0


def test_the_statistic_that_repeats_best_is_named():
    pairs = [pair(record([10.0, 12.0, 13.0], 1.0), record([10.0, 15.0, 17.0], 1.0)) for _ in range(3)]
    floor = noise_floor(pairs)
    assert floor["best_statistic"] == "min"
    assert floor["runtime_by_family"]["recurrent"]["median"]["count"] == 3


def test_a_failure_is_no_pair():
    assert pair(record([1.0], 1.0), record([], 1.0, status="timeout")) is None
    assert noise_floor([]) == {"pairs": 0}
