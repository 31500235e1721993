import pytest
import torch

from nnirp.compilers.configuration import NAMES, compiler_names, load_compiler, load_grid
from nnirp.compilers.grid import models_of
from nnirp.compilers.models import build
from nnirp.compilers.planning import gflops_of
from nnirp.errors import InputError
from nnirp.profiling.journal import FLAT_NAME


def test_the_six_families_have_what_the_source_says(grid):
    assert list(grid.experiments) == [
        "architectures",
        "conv_blocks",
        "mha_blocks",
        "conv2d",
        "fully_connected",
        "self_attention",
    ]
    assert (grid.measurement.warm_ups, grid.measurement.repeats, grid.quick_batches) == (10, 100, (1, 8))
    names = [model.name for model in models_of(grid, ["architectures"])]
    for family in ("resnet", "efficientnet", "deit", "swin", "convnext"):
        assert sum(name.startswith(family) for name in names) == 3
    smallest = models_of(grid, ["architectures"], tiers=1)
    assert [m.name for m in smallest][:2] == ["resnet18", "efficientnet_b0"] and len(smallest) == 5


def test_runs_have_names_of_their_own_that_are_files(grid):
    runs = [sample.name for model in models_of(grid) for sample in model.samples]
    assert len(set(runs)) == len(runs) == 324
    assert all(FLAT_NAME.fullmatch(run) for run in runs)
    assert "conv_blocks_w64_d4_im28_b8_fp32" in runs
    assert {s.batch for m in models_of(grid, quick=True) for s in m.samples} == {1, 8}


def test_a_model_keeps_its_number_whatever_is_asked_for(grid):
    whole = {m.configuration.name: m.number for m in models_of(grid)}
    part = {m.configuration.name: m.number for m in models_of(grid, ["conv2d", "mha_blocks"], quick=True, tiers=1)}
    assert len(set(whole.values())) == len(whole) and part.items() <= whole.items()


@pytest.mark.parametrize("experiment", ["conv_blocks", "mha_blocks", "conv2d", "fully_connected", "self_attention"])
def test_blocks_keep_their_shape_and_cost_what_their_depth_says(grid, experiment):
    models = models_of(grid, [experiment], tiers=1)
    built = build(models[0].configuration, models[0].samples[1])
    with torch.inference_mode():
        out = built.module(**built.inputs)
    assert out.shape == built.inputs["x"].shape and out.shape[0] == 2
    assert out.isfinite().all() and out.std() > 1e-3
    if models[0].depth:
        assert gflops_of(models[2]) == pytest.approx(4 * gflops_of(models[0]))


def test_arithmetic_is_counted_by_sample(grid):
    (conv,) = models_of(grid, ["conv2d"], tiers=1)
    assert gflops_of(conv) == pytest.approx(2 * 64 * 64 * 9 * 56 * 56 / 1e9)


def test_every_compiler_has_a_file_and_a_runtime():
    from nnirp.runtimes import names

    assert compiler_names() == list(NAMES)
    assert {load_compiler(name).runtime for name in NAMES} == set(names())
    assert load_compiler("identity", device="cuda:1").device == "cuda:1"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("threads: 1", "threads: 0", "threads"),
        ("runtime: tvm", "runtim: tvm", "runtim"),
        ("device: cpu", "device: tpu", "device"),
    ],
)
def test_a_settings_file_refuses_what_it_does_not_know(tmp_path, old, new, named):
    from nnirp.compilers.configuration import SETTINGS

    (tmp_path / "tvm.yaml").write_text((SETTINGS / "tvm.yaml").read_text().replace(old, new))
    with pytest.raises(InputError, match=named):
        load_compiler("tvm", tmp_path)


def test_a_grid_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_grid(tmp_path / "absent.yaml")
    (tmp_path / "a.yaml").write_text("- 1")
    with pytest.raises(InputError, match="no mapping"):
        load_grid(tmp_path / "a.yaml")
