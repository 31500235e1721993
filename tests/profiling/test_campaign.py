"""Campaigns with real worker processes on tiny models."""

import json
import random
import subprocess
import sys
import time

import pytest

from nnirp.errors import InputError, NnirpError
from nnirp.layers.archives import iter_archive
from nnirp.layers.records import read_record
from nnirp.profiling.campaign import run_campaign
from nnirp.profiling.compare import compare_campaigns
from nnirp.profiling.record import CARD_METRICS, METRICS
from nnirp.profiling.settings import ProfileSettings


def records(output):
    return {n.removesuffix(".json"): json.loads(d) for p in output.glob("*.tar.gz") for n, d in iter_archive(p)}


def test_four_bad_models_are_four_failed_rows_and_the_rest_is_there(tmp_path, make_catalog, make_sample, quick):
    bad = {"raises": "error", "sleeps": "timeout", "segfaults": "crash", "allocates": "memory"}
    samples = [make_sample("good-0")]
    for number, behaviour in enumerate(bad):
        samples += [make_sample(behaviour, arguments={"behaviour": behaviour}), make_sample(f"good-{number + 1}")]
    samples.append(make_sample("half", precision="bf16"))
    settings = ProfileSettings(
        **quick | {"timeout_s": 15.0, "memory_limit_gib": 0.5, "retest_fraction": 0.1, "seed": 1}
    )
    summary = run_campaign(make_catalog(samples), settings, tmp_path / "profiling", tmp_path / "work")
    found = records(tmp_path / "profiling")
    assert {name: found[name]["_meta"]["status"] for name in bad} == bad
    assert all(found[name][metric] is None for name in bad for metric in METRICS)
    assert all(found[name]["_meta"]["error"] for name in bad)
    good = [record for name, record in found.items() if name.startswith("good")]
    assert len(good) == 5
    assert all(record["_meta"]["status"] == "ok" for record in good)
    for record in good:
        assert set(CARD_METRICS) <= set(record)
        assert all(record[metric] or record["_meta"]["reasons"][metric] for metric in METRICS)
        meta = record["_meta"]
        assert record["Runtime (ms)"]["count"] == len(meta["times_ms"]) >= 5
        assert sum(entry["count"] for entry in meta["rounds"]) == len(meta["times_ms"])
        assert len(meta["rounds"]) == 2
    assert set(summary.failed) == set(bad)
    assert summary.complete
    assert (tmp_path / "manifests" / "retest.json").is_file()

    before = [path.read_bytes() for path in sorted((tmp_path / "profiling").iterdir())]
    again = run_campaign(make_catalog(samples), settings, tmp_path / "profiling", tmp_path / "work")
    assert again.measured_this_time == 0
    assert [path.read_bytes() for path in sorted((tmp_path / "profiling").iterdir())] == before
    assert (
        compare_campaigns(tmp_path / "profiling", tmp_path / "profiling").summary()["runtime_ms"]["median_ratio"] == 1
    )

    with pytest.raises(InputError, match="other settings"):
        changed = ProfileSettings(**quick | {"threads": 1, "max_repeats": 9, "retest_fraction": 1.0})
        run_campaign(make_catalog(samples), changed, tmp_path / "profiling", tmp_path / "work")


PROGRAM = """
import sys
from pathlib import Path
from types import SimpleNamespace as N
from nnirp.profiling import ProfileSettings, run_campaign
rest = dict(batch=1, size=4, size_kind="seq", precision="fp32", mode="forward", arguments={})
samples = [N(name=f"s{n:02}", configuration_id=0, **rest) for n in range(60)]
catalog = N(configurations=(N(id=0, name="tiny", family="recurrent", sub_family="rnn", samples=samples),))
folder = Path(sys.argv[1])
settings = ProfileSettings(build="tiny_models:build", time_budget_s=0.1, max_repeats=100000, calibrate=False, rounds=4,
    interleave=4, floor_tolerance=0.0, patience=0.0, contention_threshold=100.0, retest_fraction=0.0,
    max_attempts=1, preload=())
run_campaign(catalog, settings, folder / "profiling", folder / "work")
"""


def test_twenty_kills_at_random_moments_lose_and_double_nothing(tmp_path):
    draw, work = random.Random(0), tmp_path / "work" / "records"
    seen: dict[str, bytes] = {}
    for number in range(20):
        campaign = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)])
        if number % 5 in (2, 4):  # while it measures; the others fall anywhere, mostly while it starts
            limit = time.monotonic() + 20
            while len(list(work.glob("*.json"))) <= len(seen) and time.monotonic() < limit:
                time.sleep(0.02)
            time.sleep(draw.uniform(0, 0.3))
        else:
            time.sleep(draw.uniform(0, 1.5))
        campaign.kill()
        campaign.wait()
        now = {path.name: path.read_bytes() for path in work.glob("*.json")}
        assert seen.items() <= now.items()  # finished samples are neither lost nor measured again
        assert all(read_record(content).ok for content in now.values())
        seen = now
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=True)
    found = {n: d for p in (tmp_path / "profiling").glob("*.tar.gz") for n, d in iter_archive(p)}
    assert sorted(found) == [f"s{n:02}.json" for n in range(60)]
    for name, content in found.items():
        record = read_record(content, name)
        assert record.ok
        assert record.metrics["Runtime (ms)"].count == len(record.meta.times_ms) >= 5
    left = [p for p in (tmp_path / "work").iterdir() if p.name.startswith("worker-")]
    assert not left


def test_a_spent_budget_stops_and_says_so(tmp_path, make_catalog, make_sample, quick):
    catalog = make_catalog([make_sample("a"), make_sample("b")])
    summary = run_campaign(catalog, ProfileSettings(**quick), tmp_path / "p", tmp_path / "w", budget_minutes=1e-9)
    assert (summary.finished, summary.complete) == (0, False)


def test_a_name_that_occurs_twice_is_refused_before_measuring(tmp_path, make_catalog, make_sample, quick):
    catalog = make_catalog([make_sample("a"), make_sample("a")])
    with pytest.raises(InputError, match="more than once"):
        run_campaign(catalog, ProfileSettings(**quick), tmp_path / "p", tmp_path / "w")
    assert not (tmp_path / "w").exists()


def test_a_worker_that_cannot_start_ends_the_campaign_with_its_last_words(tmp_path, make_catalog, make_sample, quick):
    settings = ProfileSettings(**quick | {"build": "no_such_module:build"})
    with pytest.raises(NnirpError, match="no_such_module"):
        run_campaign(make_catalog([make_sample("a")]), settings, tmp_path / "p", tmp_path / "w")


def test_what_lacks_good_repeats_gets_another_sitting_whose_rounds_are_added(
    tmp_path, make_catalog, make_sample, quick
):
    never = {"contention_threshold": 0.0, "calibrate": True, "drift_threshold": 0.0, "patience": 0.0, "max_attempts": 2}
    summary = run_campaign(
        make_catalog([make_sample("a")]), ProfileSettings(**quick | never), tmp_path / "p", tmp_path / "w"
    )
    meta = records(tmp_path / "p")["a"]["_meta"]
    assert (meta["attempts"], summary.measured_this_time, summary.bad_moments) == (2, 2, 1)
    assert {entry["sitting"] for entry in meta["rounds"]} == {0, 1}
    assert "good repeats" in meta["moment"]["reasons"][0]


def test_samples_take_turns_so_that_their_rounds_lie_apart(tmp_path, make_catalog, make_sample, quick):
    catalog = make_catalog([make_sample("a"), make_sample("b")], [make_sample("c", 1), make_sample("d", 1)])
    settings = ProfileSettings(**quick | {"interleave": 3, "rounds": 3})
    run_campaign(catalog, settings, tmp_path / "p", tmp_path / "w")
    found = records(tmp_path / "p")
    when = {name: [entry["started"] for entry in found[name]["_meta"]["rounds"]] for name in found}
    order = [name for _, name in sorted((time, name) for name, times in when.items() for time in times)]
    first, second, third = (order[i : i + 3] for i in (0, 3, 6))
    assert first == second == third
    assert len(set(first)) == 3  # of two configurations
    assert order[9:] == [next(name for name in "abcd" if name not in first)] * 3


def test_what_a_configuration_kills_leaves_the_samples_of_another_alone(tmp_path, make_catalog, make_sample, quick):
    broken = make_sample("broken", arguments={"behaviour": "segfaults later"})
    catalog = make_catalog([make_sample("a"), broken, make_sample("b")], [make_sample("c", 1)])
    run_campaign(catalog, ProfileSettings(**quick | {"rounds": 3}), tmp_path / "p", tmp_path / "w")
    found = {name: record["_meta"] for name, record in records(tmp_path / "p").items()}
    assert {name: meta["status"] for name, meta in found.items()} == {
        "a": "ok",
        "b": "ok",
        "c": "ok",
        "broken": "crash",
    }
    assert all(len(meta["rounds"]) == 3 for name, meta in found.items() if name != "broken")


def test_a_library_that_starts_threads_turns_forks_into_new_interpreters(tmp_path, make_catalog, make_sample, quick):
    settings = ProfileSettings(**quick | {"preload": ["threaded_library"]})
    run_campaign(make_catalog([make_sample("a")]), settings, tmp_path / "p", tmp_path / "w")
    assert records(tmp_path / "p")["a"]["_meta"]["forked"] is False
