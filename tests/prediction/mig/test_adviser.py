import math

import pytest

from nnirp.errors import InputError
from nnirp.prediction.mig.adviser import Demand, rank
from nnirp.prediction.mig.table import GPUS, card_of, find_gpu, load_profiles, profiles_of

A100 = GPUS["A100-40GB"]
BY_SHARE = {"1g": 40.0, "2g": 22.0, "3g": 15.0, "4g": 11.0, "7g": 6.0}


def latency(profile):
    return BY_SHARE[profile.name[:2]]


@pytest.mark.parametrize(("memory_mb", "profile"), [(3272, "1g.5gb"), (6294, "2g.10gb"), (30996, "7g.40gb")])
def test_published_examples_of_memory_get_the_smallest_instance_that_holds_them(memory_mb, profile):
    assert rank(A100, Demand(memory_mb))[0].profile == profile


@pytest.mark.parametrize("profile", load_profiles(), ids=lambda p: f"{p.gpu} {p.name}")
def test_a_profile_fits_up_to_its_usable_memory_and_not_beyond(profile):
    def verdict(memory_mb, margin=0.0, context_mb=0.0):
        rows = rank(GPUS[profile.gpu], Demand(memory_mb, margin, context_mb=context_mb))
        return next(row.verdict for row in rows if row.profile == profile.name)

    usable = profile.usable_gib * 1024
    assert verdict(usable) == "fits"
    assert verdict(math.nextafter(usable, math.inf)) == "does not fit"
    assert verdict(usable / 2, margin=1.0) == "fits"
    assert verdict(usable / 2, margin=1.001) == "does not fit"
    assert verdict(usable - 100, context_mb=100.5) == "does not fit"


def test_latency_decides_between_3g_and_4g():
    def best(limit):
        return rank(A100, Demand(15_000, latency_ms=latency), max_latency_ms=limit)[0]

    assert best(15).profile == "3g.20gb" and best(15).instances == 2
    assert best(14).profile == "4g.20gb" and best(14).instances == 1
    assert best(10).profile == "7g.40gb"
    assert best(5).verdict == "too slow"
    no_target = rank(A100, Demand(15_000, latency_ms=latency))
    assert [row.profile for row in no_target[:2]] == ["3g.20gb", "4g.20gb"]  # 2 in 15 ms serve more than 1 in 11 ms
    flat = rank(A100, Demand(15_000, latency_ms=lambda p: 10.0 if p.name.startswith("4g") else 25.0))
    assert flat[0].profile == "4g.20gb"


@pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)
def test_every_card_answers_for_every_size_with_a_reason(gpu):
    for memory_mb in (1.0, 5_000, 19_000, 39_000, 79_000, 500_000):
        rows = rank(gpu, Demand(memory_mb, latency_ms=lambda p: 1000 / p.multiprocessors), max_latency_ms=30)
        assert len(rows) == len(profiles_of(gpu)) >= 3
        assert all(row.verdict in ("fits", "too slow", "does not fit") and row.reason for row in rows)
        order = [("fits", "too slow", "does not fit").index(row.verdict) for row in rows]
        assert order == sorted(order)
    assert {row.verdict for row in rank(gpu, Demand(500_000))} == {"does not fit"}


def test_what_is_no_number_or_no_card_is_refused():
    for memory_mb in (0, -1, math.nan, math.inf):
        with pytest.raises(InputError, match="positive"):
            rank(A100, Demand(memory_mb))
    with pytest.raises(InputError, match="latency"):
        rank(A100, Demand(1000), max_latency_ms=5)
    with pytest.raises(InputError, match="A100-80GB"):
        find_gpu("A100")
    with pytest.raises(InputError, match="no GPU of the table"):
        find_gpu("GTX 1080")


@pytest.mark.parametrize(
    ("device", "card"),
    [
        ("NVIDIA A100-SXM4-40GB, 1 thread", "A100-40GB"),
        ("NVIDIA A100 80GB PCIe", "A100-80GB"),
        ("NVIDIA H100 80GB HBM3", "H100-80GB-SXM5"),
        ("NVIDIA H200", "H200-141GB"),
        ("AMD EPYC, 1 thread", None),
    ],
)
def test_a_device_is_known_by_the_name_that_its_driver_tells(device, card):
    assert card_of(device) == (GPUS[card] if card else None)
