import pytest

from nnirp.profiling.rounds import add_rounds, calibrations, conclude, disturbances, each_round, finished, kept_times
from nnirp.profiling.settings import ProfileSettings

FLOOR = {"matmul_ms": 10.0, "copy_ms": 10.0}
QUIET = {"matmul_ms": 10.1, "copy_ms": 10.1}
SLOW = {"matmul_ms": 10.1, "copy_ms": 13.0}


def entry(count=1, after=QUIET, **changes):
    return {"before": QUIET, "after": after, "taken": None, "count": count, "cpu_percent": 100, "sitting": 0, **changes}


def record(*rounds):
    """A record of (calibration after the round, its times)."""
    meta = {"status": "ok", "attempts": 1, "seconds": {"timed": 1.0}}
    meta["rounds"] = [entry(len(times), after) for after, times in rounds]
    meta["times_ms"] = [time for _, times in rounds for time in times]
    return {"_meta": meta}


SETTINGS = ProfileSettings(rounds=6, min_repeats=3, max_repeats=100, time_budget_s=1.0, patience=1.0)


def test_a_moment_is_bad_for_a_reason():
    assert disturbances(entry(), FLOOR, SETTINGS) == []
    taken = {"others": 0.3, "stolen": 0.1, "gpu_processes": 2}
    assert len(disturbances(entry(after=SLOW, taken=taken), FLOOR, SETTINGS)) == 4
    assert disturbances(entry(after=SLOW), None, SETTINGS) == []  # without a floor there is no drift


def test_statistics_are_those_of_the_good_rounds_and_every_raw_time_is_kept():
    found = conclude(record((QUIET, [3.0, 2.0]), (SLOW, [9.0, 1.0]), (QUIET, [4.0])), FLOOR, SETTINGS)
    runtime, meta = found["Runtime (ms)"], found["_meta"]
    assert (runtime["count"], runtime["min"], runtime["median"], runtime["max"]) == (3, 2.0, 3.0, 4.0)
    assert runtime["p10"] == pytest.approx(2.2)
    assert meta["times_ms"] == [3.0, 2.0, 9.0, 1.0, 4.0]
    assert [(e["good"], times) for e, times in each_round(meta)] == [
        (True, [3.0, 2.0]),
        (False, [9.0, 1.0]),
        (True, [4.0]),
    ]
    assert kept_times(meta) == [3.0, 2.0, 4.0]
    assert meta["moment"]["reasons"] == []


def test_a_sample_without_enough_good_repeats_keeps_all_and_says_so():
    found = conclude(record((SLOW, [9.0, 8.0]), (QUIET, [4.0])), FLOOR, SETTINGS)
    assert found["Runtime (ms)"]["count"] == 3
    assert found["_meta"]["moment"]["reasons"] == ["1 good repeats of 3, 3 wanted"]
    assert kept_times(found["_meta"]) == [9.0, 8.0, 4.0]


def test_a_lower_floor_changes_the_verdict_and_the_same_floor_nothing():
    found = conclude(record((QUIET, [1.0, 1.0, 1.0])), FLOOR, SETTINGS)
    assert conclude(found, FLOOR, SETTINGS) == found
    assert found["_meta"]["moment"]["good_rounds"] == 1
    lower = {"matmul_ms": 8.0, "copy_ms": 10.0}
    assert conclude(found, lower, SETTINGS)["_meta"]["moment"]["good_rounds"] == 0


@pytest.mark.parametrize(
    ("rounds", "reason"),
    [
        ([(QUIET, [100.0])] * 2, ""),
        ([(QUIET, [100.0])] * 3, "floor"),
        ([(QUIET, [100.0]), (QUIET, [110.0]), (QUIET, [120.0])], ""),
        ([(QUIET, [400.0]), (QUIET, [500.0]), (QUIET, [600.0])], "time_budget"),
        ([(SLOW, [400.0]), (SLOW, [500.0]), (SLOW, [600.0])], ""),
        ([(SLOW, [500.0])] * 4, "patience"),
        ([(QUIET, [5000.0])] * 2, ""),  # a long model gets its three repeats
        ([(QUIET, [0.1 + n / 100 for n in range(100)])], "max_repeats"),
    ],
    ids=["begun", "agreed", "disagreeing", "budget", "disturbed", "patience", "long", "many"],
)
def test_visits_go_on_until_there_are_enough_good_repeats_or_patience_ends(rounds, reason):
    assert finished(record(*rounds)["_meta"], FLOOR, SETTINGS) == reason


def test_rounds_of_a_later_sitting_are_added_and_told_apart():
    found = add_rounds(record((SLOW, [2.0])), record((QUIET, [1.0])))
    assert found["_meta"]["times_ms"] == [2.0, 1.0]
    assert [e["sitting"] for e in found["_meta"]["rounds"]] == [0, 1]
    assert found["_meta"]["attempts"] == 2
    assert found["_meta"]["seconds"]["timed"] == 2.0


def test_a_measurement_wins_over_a_failure():
    failed = {"_meta": {"status": "crash", "attempts": 1}}
    assert add_rounds(failed, record((QUIET, [1.0])))["_meta"]["status"] == "ok"
    assert add_rounds(record((QUIET, [1.0])), failed)["_meta"]["status"] == "ok"


def test_a_record_without_rounds_is_one_good_round():
    assert kept_times({"times_ms": [1.0, 2.0]}) == [1.0, 2.0]


def test_neighbouring_rounds_share_a_calibration_which_counts_once():
    assert len(list(calibrations([record((SLOW, [1.0]), (SLOW, [1.0]))["_meta"]]))) == 2
