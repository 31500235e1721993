import math

import numpy as np
import pytest

from nnirp.compilers.analysis import analyse
from nnirp.errors import InputError

EXAMPLE = {1: 100.0, 2: 190.0, 4: 340.0, 8: 560.0, 16: 800.0, 32: 960.0}


def at(analysis, **key):
    frame = analysis.metrics
    for name, value in key.items():
        frame = frame[frame[name] == value]
    (row,) = frame.to_dict("records")
    return row


def test_metrics_of_the_worked_example_come_from_rows(make_row, measurement):
    rows = [make_row("identity", "m", b, 1e3 * b / t) for b, t in EXAMPLE.items()]
    rows += [make_row("openvino", "m", b, 1e3 * b / (2 * t)) for b, t in EXAMPLE.items()]
    found = analyse(rows, measurement)
    line = at(found, compiler="openvino", batch=8)
    assert line["ase"] == pytest.approx(0.70) and line["rtr"] == pytest.approx(5.6)
    assert line["speed_up"] == pytest.approx(2) and line["rse"] == pytest.approx(1)
    assert line["friction"] == pytest.approx(0.3) and line["mitigation"] == pytest.approx(0, abs=1e-9)
    assert line["speed_up_low"] < 2 < line["speed_up_high"] < 2.05
    base = at(found, compiler="identity", batch=8)
    assert base["speed_up_low"] == base["speed_up_high"] == 1
    assert found.areas.set_index("compiler").loc["identity", "area"] == pytest.approx(0.73)


def test_without_batch_1_scaling_is_undefined_with_a_reason_and_speed_up_is_not(make_row, measurement):
    rows = [make_row(c, "m", b, 10.0 * b) for c in ("identity", "openvino") for b in (2, 8)]
    found = analyse(rows, measurement)
    line = at(found, compiler="openvino", batch=8)
    for name in ("rtr", "ase", "rse", "friction", "mitigation"):
        assert math.isnan(line[name]) and line[f"{name}_reason"] == "openvino was not run at batch 1", name
    assert line["speed_up"] == pytest.approx(1)
    assert set(found.areas["reason"]) == {"openvino was not run at batch 1", "identity was not run at batch 1"}


def test_a_failed_run_is_undefined_with_its_error_and_never_zero(make_row, measurement):
    rows = [make_row("identity", "m", 1, 5.0), make_row("identity", "m", 8, 30.0)]
    rows += [make_row("tvm", "m", 1, 50.0), make_row("tvm", "m", 8)]
    found = analyse(rows, measurement)
    line = at(found, compiler="tvm", batch=8)
    for name in ("throughput", "rtr", "ase", "speed_up", "rse", "friction", "mitigation"):
        assert math.isnan(line[name]) and "timeout: no result within 600 s" in line[f"{name}_reason"], name
    assert 0 not in [value for value in line.values() if isinstance(value, float)]
    assert found.areas.set_index("compiler").loc["tvm", "reason"].startswith("tvm at batch 8: timeout")
    missing = analyse([make_row("tvm", "m", 1, 50.0)], measurement)
    assert at(missing, compiler="tvm", batch=1)["speed_up_reason"] == "identity was not run at batch 1"


def test_mitigation_is_undefined_where_the_baseline_has_no_friction(make_row, measurement):
    rows = [make_row(c, "m", b, ms) for c, ms in (("identity", 10.0), ("inductor", 9.0)) for b in (1, 4)]
    line = at(analyse(rows, measurement), compiler="inductor", batch=4)
    assert math.isnan(line["mitigation"]) and line["mitigation_reason"] == "identity has no friction here"
    assert line["friction"] == pytest.approx(0)


def test_reversals_are_found_per_batch_and_known_to_be_certain_or_not(make_row, measurement):
    def four(base_a, base_b, ours_a, ours_b, batch, **more):
        pairs = (("identity", base_a, base_b), ("onnxruntime", ours_a, ours_b))
        return [make_row(c, m, batch, ms, **more) for c, *both in pairs for m, ms in zip("ab", both, strict=True)]

    rows = four(10, 12, 9, 6, 1) + four(10, 12, 6, 8, 8) + four(10, 10.1, 10.1, 10, 32, spread=0.2)
    found = analyse(rows, measurement)
    turned = found.reversals.set_index("batch")
    assert list(turned.index) == [1, 32]
    assert (turned.loc[1, "first"], turned.loc[1, "second"], bool(turned.loc[1, "certain"])) == ("a", "b", True)
    assert turned.loc[1, "second_compiled"] == pytest.approx(1e3 / 6)
    assert not turned.loc[32, "certain"]
    assert found.pairs.set_index("batch")["reversed"].to_dict() == {1: 1, 8: 0, 32: 1}


def test_the_best_compiler_is_clear_only_beyond_the_intervals(make_row, measurement):
    rows = [
        make_row("identity", "m", 1, 10.0),
        make_row("openvino", "m", 1, 5.0),
        make_row("onnxruntime", "m", 1, 9.99),
    ]
    (line,) = analyse(rows, measurement).best.to_dict("records")
    assert (line["best"], line["next"], line["clear"]) == ("openvino", "onnxruntime", True)
    rows[1] = make_row("openvino", "m", 1, 9.98, spread=0.1)
    (line,) = analyse(rows, measurement).best.to_dict("records")
    assert line["best"] == "openvino" and not line["clear"]


def test_gains_that_grow_with_depth_have_a_positive_slope(make_row, measurement):
    def row(compiler, depth, ms):
        return make_row(compiler, f"w64_d{depth}", 1, ms, experiment="conv_blocks", width=64, depth=depth)

    rows = [row("identity", d, 10.0 * d) for d in (1, 2, 4)] + [row("inductor", d, 10.0 * d**0.5) for d in (1, 2, 4)]
    (line,) = analyse(rows, measurement).depth.to_dict("records")
    assert line["depths"] == "1 2 4" and line["slope"] == pytest.approx(0.5)
    assert 0.4 < line["slope_low"] <= line["slope"] <= line["slope_high"] < 0.6


def test_devices_do_not_mix(make_row, measurement):
    rows = [make_row("identity", "m", 1, 10.0), make_row("openvino", "m", 1, 5.0, device="other")]
    found = analyse(rows, measurement)
    assert at(found, device="other")["speed_up_reason"] == "identity was not run at batch 1"
    assert np.isnan(at(found, device="other")["speed_up"])


def test_nothing_to_analyse_is_refused(measurement):
    with pytest.raises(InputError, match="nnirp compilers run"):
        analyse([], measurement)
