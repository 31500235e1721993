from nnirp.profiling.calibration import calibrator, drift, floor_of


def calibration(matmul, copy=2.0):
    return {"matmul_ms": matmul, "copy_ms": copy}


def test_the_floor_is_near_the_fastest_calibrations_but_not_one_lucky_reading():
    found = floor_of([calibration(1.0 + n / 100) for n in range(100)] + [calibration(0.5)])
    assert 1.03 < found["matmul_ms"] < 1.06
    assert floor_of([calibration(1.0)] * 9) is None


def test_drift_is_the_larger_slowdown_of_both_kernels():
    assert round(drift(calibration(1.1, 2.6), calibration(1.0, 2.0)), 6) == 0.3
    assert drift(calibration(0.9, 1.9), calibration(1.0, 2.0)) == 0.0
    assert drift(None, calibration(1.0)) == drift(calibration(1.0), None) == 0.0


def test_both_kernels_take_their_time():
    found = calibrator("cpu")()
    assert 0 < found.matmul_min_ms <= found.matmul_ms < 100
    assert 0 < found.copy_min_ms <= found.copy_ms < 100
