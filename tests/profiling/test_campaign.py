"""Campaigns with real worker processes on tiny models."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from nnirp.errors import InputError, NnirpError
from nnirp.layers.archives import iter_archive
from nnirp.profiling.campaign import better, run_campaign
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
    settings = ProfileSettings(**quick | {"timeout_s": 4.0, "memory_limit_gib": 1.5, "retest_fraction": 0.1, "seed": 1})
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
        assert record["Runtime (ms)"]["count"] == len(record["_meta"]["times_ms"]) >= 5
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
samples = [N(name=f"s{n:02}", configuration_id=0, **rest) for n in range(COUNT)]
catalog = N(configurations=(N(id=0, name="tiny", family="recurrent", sub_family="rnn", samples=samples),))
folder = Path(sys.argv[1])
settings = ProfileSettings(build="tiny_models:build", time_budget_s=0.05, max_repeats=100000, calibrate=False,
                           target_relative_half_width=1e-9, contention_threshold=100.0, retest_fraction=0.0, max_attempts=1)
run_campaign(catalog, settings, folder / "profiling", folder / "work", on_progress=lambda *_: None)
"""


def test_kill_at_random_moments_loses_and_doubles_nothing(tmp_path):
    count, draw = 60, random.Random(0)
    program, work = PROGRAM.replace("COUNT", str(count)), tmp_path / "work" / "records"
    seen: dict[str, bytes] = {}
    for _ in range(3):
        campaign = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
        begun, limit = len(seen), time.monotonic() + 60
        while len(list(work.glob("*.json"))) <= begun and time.monotonic() < limit:
            time.sleep(0.02)
        time.sleep(draw.uniform(0, 0.8))
        os.kill(campaign.pid, signal.SIGKILL)
        campaign.wait()
        now = {path.name: path.read_bytes() for path in work.glob("*.json")}
        assert all(now[name] == content for name, content in seen.items())  # finished samples are not measured again
        assert all(json.loads(content)["_meta"]["status"] == "ok" for content in now.values())
        seen = now
    assert 0 < len(seen) < count
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    found = records(tmp_path / "profiling")
    assert sorted(found) == [f"s{n:02}" for n in range(count)]
    assert all(record["_meta"]["status"] == "ok" for record in found.values())


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


def test_the_less_disturbed_attempt_is_kept():
    def attempt(disturbance, status="ok"):
        return {"_meta": {"status": status, "attempts": 1, "moment": {"disturbance": disturbance}}}

    calm, busy = attempt(0.1), attempt(0.5)
    assert better(calm, busy) is calm
    assert calm["_meta"]["attempts"] == 2
    assert better(attempt(0.5), calm) is calm
    assert better(busy, attempt(0.0, "crash")) is busy
