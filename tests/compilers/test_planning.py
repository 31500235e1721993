import pytest

from nnirp.compilers.configuration import load_compiler
from nnirp.compilers.grid import models_of
from nnirp.compilers.places import place_of
from nnirp.compilers.planning import plan, sweep_seconds


@pytest.fixture
def place(tmp_path):
    return place_of(tmp_path / "benchmarks", tmp_path / ".work", "cpu")


def test_model_after_model_and_for_each_every_compiler(grid, place, measurement):
    models = models_of(grid, ["conv2d", "fully_connected"])
    steps = plan(
        models, [load_compiler(c) for c in ("identity", "openvino")], place, measurement, gflops=lambda _: 0.01
    )
    order = [(s.model.tier, s.model.experiment, s.compiler.name) for s in steps]
    assert order[:4] == [(1, e, c) for e in ("conv2d", "fully_connected") for c in ("identity", "openvino")]
    assert [tier for tier, *_ in order] == sorted(tier for tier, *_ in order)
    assert all([s.batch for s in step.samples] == [1, 2, 4, 8, 16, 32] for step in steps)


def test_runs_that_are_there_and_runs_that_are_too_large_are_not_planned(grid, place, measurement, make_row):
    (model,) = models_of(grid, ["conv2d"], tiers=1)
    row = make_row("tvm", model.name, 1, 3.0, experiment="conv2d")
    place.write(row | {"run": model.samples[0].name, "seconds": 4.0})
    (step,) = plan([model], [load_compiler("tvm")], place, measurement, gflops=lambda _: 0.1)
    assert step.present == 1 and [s.batch for s in step.samples] == [2, 4]
    assert set(step.left_out) == {s.name for s in model.samples if s.batch >= 8}
    assert "0.8 GFLOPs, more than the 0.5 of tvm.yaml" in step.left_out[model.samples[3].name]


def test_rows_that_were_measured_replace_the_guesses(grid, place, measurement, make_row):
    (model,) = models_of(grid, ["conv2d"], tiers=1)
    compiler = load_compiler("inductor")

    def seconds():
        return plan([model], [compiler], place, measurement, gflops=lambda _: 0.01)[0].seconds

    before = seconds()
    assert before > 6 * compiler.planning.prepare_s
    row = make_row("inductor", model.name, 1, 1.0, experiment="conv2d", seconds=3.0)
    place.write(row | {"run": "another", "seconds": 3.0})
    assert seconds() < before / 2


def test_a_sweep_takes_as_long_as_its_steps_and_the_starts_of_its_compilers(grid, place, measurement):
    models = models_of(grid, ["conv2d"])
    steps = plan(models, [load_compiler("identity")], place, measurement, gflops=lambda _: 0.01)
    assert sweep_seconds(steps) == pytest.approx(sum(step.seconds for step in steps) + 10)
