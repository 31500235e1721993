import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnirp.compilers.metrics import (
    absolute_scaling_efficiency,
    area,
    friction,
    mitigation,
    relative_scaling_efficiency,
    relative_throughput_rate,
    reversals,
    speed_up,
    throughput,
)

EXAMPLE = {1: 100.0, 2: 190.0, 4: 340.0, 8: 560.0, 16: 800.0, 32: 960.0}
latencies = st.floats(1e-3, 1e5)


def test_the_worked_example():
    found = [absolute_scaling_efficiency(b, t, EXAMPLE[1]) for b, t in EXAMPLE.items()]
    assert found == pytest.approx([1, 0.95, 0.85, 0.70, 0.50, 0.30])
    assert relative_throughput_rate(EXAMPLE[32], EXAMPLE[1]) == pytest.approx(9.6)
    ase = dict(zip(EXAMPLE, found, strict=True))
    # by hand: (1+.95)/2 + (.95+.85)/2 + (.85+.70)/2 + (.70+.50)/2 + (.50+.30)/2 = 3.65, over log2 32 = 5
    assert area(ase) == pytest.approx(0.73)


@given(st.sampled_from([2, 4, 8, 32]), latencies, latencies, latencies, latencies)
def test_the_identities_hold_for_any_latencies(batch, one, many, base_one, base_many):
    t1, t = throughput(1, one), throughput(batch, many)
    b1, b = throughput(1, base_one), throughput(batch, base_many)
    ase, base_ase = absolute_scaling_efficiency(batch, t, t1), absolute_scaling_efficiency(batch, b, b1)
    assert ase == pytest.approx(one / many)
    assert relative_throughput_rate(t, t1) == pytest.approx(batch * ase)
    assert speed_up(t, b) / speed_up(t1, b1) == pytest.approx(relative_scaling_efficiency(ase, base_ase))


def test_more_than_perfect_scaling_is_legal_and_has_negative_friction():
    ase = absolute_scaling_efficiency(2, 250.0, 100.0)
    assert ase == 1.25 and friction(ase) == -0.25


def test_mitigation_is_the_share_of_friction_taken_away_and_undefined_without_friction():
    assert mitigation(0.1, 0.4) == pytest.approx(0.75)
    assert mitigation(0.5, 0.4) == pytest.approx(-0.25)
    with pytest.raises(ZeroDivisionError):
        mitigation(0.1, 0.0)
    assert np.isnan(mitigation(np.array([0.1]), np.array([-0.2]))).all()


def test_area_is_one_for_perfect_scaling_and_needs_batch_1():
    assert area({1: 1.0, 8: 1.0, 32: 1.0}) == 1.0
    assert area({1: 1.0, 4: 0.5, 32: 0.5}) == pytest.approx((0.75 * 2 + 0.5 * 3) / math.log2(32))
    for broken in ({2: 0.9, 4: 0.8}, {1: 1.0}):
        with pytest.raises(ValueError, match="batch 1"):
            area(broken)


def test_the_public_pairs_are_reversed_or_not():
    """samples/s of timm's published tables for an RTX 4090, AMP, batch 1024: eager, torch.compile."""
    public = {
        "resnet50": (4302.8, 8039.1),
        "convnext_tiny": (4814.9, 6698.3),
        "resnet18": (13726.3, 24941.5),
        "deit_tiny": (18550.1, 23489.4),
        "swin_small": (1708.1, 3122.5),
        "swin_base": (1240.8, 2205.6),
    }
    eager, compiled = ({name: pair[i] for name, pair in public.items()} for i in (0, 1))
    found = reversals(eager, compiled)
    assert set(found) == {("convnext_tiny", "resnet50"), ("deit_tiny", "resnet18")}
    assert reversals(eager, {}) == []
