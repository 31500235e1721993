import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnirp.errors import InputError
from nnirp.layers.records import Meta, ProfileRecord, read_record, statistics, write_record

VALUES = st.lists(st.floats(0, 1e12, allow_subnormal=False), min_size=1, max_size=20)


@given(st.dictionaries(st.sampled_from(["Runtime (ms)", "Energy (J)", "My metric"]), VALUES, min_size=1))
def test_round_trip_keeps_unknown_metrics_and_meta(metrics):
    meta = Meta(fingerprint={"cpu": "a"}, times_ms=[1.0], reasons={"Peak VRAM (MB)": "no GPU"}, own_key=[1])
    record = ProfileRecord(metrics={k: statistics(v) for k, v in metrics.items()} | {"Peak VRAM (MB)": None}, meta=meta)
    packed = write_record(record)
    assert read_record(packed) == record and write_record(read_record(packed)) == packed
    assert json.loads(packed)["_meta"]["own_key"] == [1]


def test_the_cards_own_form_without_meta_is_read():
    stats = {"count": 3, "mean": 2, "median": 2.0, "variance": 0.5, "min": 1.0, "max": 3.0}
    record = read_record(json.dumps({"Runtime (ms)": stats, "Peak VRAM (MB)": None}).encode())
    assert record.ok and record.target("runtime_ms") == 1.0 and record.target("runtime_ms", "min") == 0.0
    assert math.isnan(record.target("peak_vram_mb")) and math.isnan(record.target("energy_j"))
    with pytest.raises(InputError, match="no target 'speed'"):
        record.target("speed")


STATS = {"count": 1, "mean": 1.0, "median": 1.0, "variance": 0.0, "min": 1.0, "max": 1.0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "is not JSON"),
        (b"[" * 100000, "is not JSON"),
        (b"[]", "is a list"),
        ({"Runtime (ms)": 3.0}, r"metrics.Runtime \(ms\)"),
        ({"Runtime (ms)": STATS | {"mean": math.nan}}, "mean"),
        ({"Runtime (ms)": STATS | {"mean": "1"}}, "found '1'"),
        ({"Runtime (ms)": STATS | {"mean": 9.0}}, "outside min..max"),
        ({"Runtime (ms)": STATS | {"count": 0}}, "count"),
        ({"Runtime (ms)": STATS, "_meta": {"status": "fine"}}, "status"),
        ({"Runtime (ms)": STATS, "_meta": {"schema": 2}}, "schema"),
        ({"Runtime (ms)": None}, "no metric"),
    ],
)
def test_a_malformed_record_is_refused_on_one_line(content, message):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    with pytest.raises(InputError, match=message) as caught:
        read_record(data, "1.tar.gz: a.json")
    assert str(caught.value).startswith("1.tar.gz: a.json") and "\n" not in str(caught.value)


def test_a_failed_record_needs_no_metric():
    record = read_record(json.dumps({"_meta": {"status": "timeout", "error": "120 s"}}).encode())
    assert not record.ok and record.meta.error == "120 s"


@given(VALUES)
def test_statistics_lie_between_the_extremes(values):
    found = statistics(values)
    assert (
        found.min <= found.median <= found.max and found.min <= found.mean <= found.max and found.count == len(values)
    )
