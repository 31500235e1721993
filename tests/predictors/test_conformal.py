import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnirp.predictors.conformal import calibrate


@given(st.lists(st.floats(-5, 5), min_size=9, max_size=200))
def test_interval_covers_at_least_90_percent_of_its_calibration_rows(residuals):
    calibration = calibrate(np.array(residuals))
    assert calibration.method == "conformal"
    assert (np.abs(residuals) <= calibration.half_width(len(residuals)) + 1e-12).mean() >= 0.9


def test_few_rows_widen_and_no_row_promises_nothing():
    residuals = np.array([0.1, -0.1, 0.1])
    few = calibrate(residuals)
    assert few.method == "student" and few.rows == 3 and few.half_width(1)[0] > 0.2
    assert np.isinf(calibrate(np.array([np.nan])).half_width(2)).all()


def test_spread_scales_the_width():
    spread = np.tile([0.1, 1.0], 20)
    calibration = calibrate(spread * 2, spread)
    narrow, wide = calibration.half_width(2, np.array([0.1, 1.0]))
    assert wide > 2 * narrow


def test_coverage_on_exchangeable_rows_is_near_90_percent():
    generator = np.random.default_rng(0)
    covered = [np.abs(generator.normal()) <= calibrate(generator.normal(size=19)).half_width(1)[0] for _ in range(2000)]
    assert 0.88 < np.mean(covered) < 0.93
