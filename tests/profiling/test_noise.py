import pytest

from nnirp.profiling.noise import noise_floor, pair


def record(times, speed, family="recurrent", status="ok", bad=()):
    kernel = {"matmul_ms": speed, "copy_ms": speed}
    rounds = [{"count": len(times), "good": True, "before": kernel, "after": kernel}]
    if bad:
        rounds.append({"count": len(bad), "good": False, "before": dict.fromkeys(kernel, 99.0), "after": None})
    meta = {"status": status, "sample": "s", "family": family, "started": "", "times_ms": [*times, *bad]}
    return {"Peak RAM (MB)": {"median": 10.0}, "_meta": {**meta, "rounds": rounds, "kept": "good"}}


def test_drift_of_the_machine_is_told_from_noise():
    found = pair(record([10.0, 10.0, 10.0], 5.0), record([11.0, 11.0, 11.0], 5.5))
    assert found["relative_difference"]["median"] == pytest.approx(1 / 10.5)
    assert found["drift"] == pytest.approx(1 / 10.5)
    assert found["drift_corrected_relative_difference"]["median"] == pytest.approx(0.0)
    assert found["peak_ram_relative_difference"] == 0


def test_bad_rounds_count_neither_for_the_time_nor_for_the_drift():
    found = pair(record([10.0], 5.0, bad=[50.0]), record([10.0], 5.0))
    assert found["relative_difference"]["mean"] == found["drift"] == 0


def test_records_of_before_there_were_rounds_are_compared_too():
    old = record([10.0], 5.0)
    calibration = {moment: old["_meta"]["rounds"][0][moment] for moment in ("before", "after")}
    del old["_meta"]["rounds"], old["_meta"]["kept"]
    old["_meta"]["calibration"] = calibration
    assert pair(old, record([10.0], 5.0))["drift"] == 0


def test_the_statistic_that_repeats_best_is_named():
    pairs = [pair(record([10.0, 12.0, 13.0], 1.0), record([10.0, 15.0, 17.0], 1.0)) for _ in range(3)]
    floor = noise_floor(pairs)
    assert floor["best_statistic"] == "min"
    assert floor["runtime_by_family"]["recurrent"]["median"]["count"] == 3


def test_a_failure_is_no_pair():
    assert pair(record([1.0], 1.0), record([], 1.0, status="timeout")) is None
    assert noise_floor([]) == {"pairs": 0}
