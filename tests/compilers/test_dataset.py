import json

import pytest

from nnirp.compilers.configuration import load_grid
from nnirp.compilers.dataset import import_runs
from nnirp.compilers.grid import models_of
from nnirp.compilers.rows import write_row
from nnirp.errors import InputError


@pytest.fixture
def source(tmp_path, grid, make_row):
    """Rows of blocks as a sweep leaves them, one of them failed and one of another grid."""
    folder = tmp_path / "benchmarks" / "cpu" / "onnxruntime"
    for model in models_of(grid, ["conv_blocks", "conv2d", "fully_connected"], tiers=1, quick=True):
        for sample in model.samples[-1:]:
            changes = {"experiment": model.experiment, "width": model.width, "depth": model.depth, "peak_ram_mb": 3.5}
            failed = sample.name == "conv_blocks_w64_d8_im28_b8_fp32"
            row = make_row("onnxruntime", model.name, sample.batch, None if failed else 2.0 * sample.batch, **changes)
            write_row(row | {"run": sample.name}, folder / f"{sample.name}.csv")
    write_row(make_row("onnxruntime", "other", 1, 1.0), folder / "other.csv")
    return folder


def test_runs_become_a_dataset_that_a_predictor_of_the_compiler_can_be_trained_on(source, tmp_path):
    from nnirp.layers.dataset import load_dataset
    from nnirp.layers.verify import verify

    root = tmp_path / "root"
    summary = import_runs(source, root, load_grid())
    assert summary["samples"] == 5 and set(summary["left_out"]) == {
        "conv_blocks_w64_d8_im28_b8_fp32",
        "architectures_other_b1",
    }
    assert verify(root) == []
    dataset = load_dataset(root, protocol="random")
    by_name = {graph.sample: graph for part in (dataset.train, dataset.val, dataset.test) for graph in part}
    one = by_name["conv_blocks_w64_d2_im28_b8_fp32"]
    assert 2 ** float(one.y[0, 0]) == pytest.approx(16.0, rel=1e-3)
    record = json.loads((root / "manifests" / "dataset.json").read_text())
    assert record["targets"] == ["runtime_ms", "peak_ram_mb"]


def test_a_folder_without_a_measured_run_of_the_grid_is_refused(tmp_path, make_row):
    write_row(make_row("tvm", "x", 1), tmp_path / "tvm" / "x.csv")
    with pytest.raises(InputError, match="no measured run"):
        import_runs(tmp_path / "tvm", tmp_path / "out", load_grid())
    assert not (tmp_path / "out").exists()
