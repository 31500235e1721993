from nnirp.profiling.measurement import judge
from nnirp.profiling.settings import ProfileSettings

USUAL = {"matmul_ms": 10.0, "copy_ms": 10.0}
SLOW = {"matmul_ms": 12.0, "copy_ms": 10.0}


def test_a_quiet_moment_is_good():
    found = judge(ProfileSettings(), USUAL, USUAL, USUAL, {"others": 0.01, "stolen": 0.0})
    assert found["reasons"] == []


def test_drift_contention_and_a_shared_gpu_are_reasons():
    found = judge(ProfileSettings(), USUAL, SLOW, USUAL, {"others": 0.3, "stolen": 0.1}, 2)
    assert len(found["reasons"]) == 4
    assert found["disturbance"] == 0.3


def test_without_a_reference_there_is_no_drift():
    assert judge(ProfileSettings(), SLOW, SLOW, None, None)["disturbance"] == 0
