import json
from dataclasses import dataclass
from types import SimpleNamespace

import onnx
import torch
from torch import nn

from nnirp.catalog import load_catalog
from nnirp.graphs.layer import export_catalog, export_configuration, export_manifest
from nnirp.layers.archives import iter_archive


@dataclass(frozen=True)
class Sample:
    name: str
    batch: int


CONFIGURATION = SimpleNamespace(
    id=7, name="tiny", samples=(Sample("tiny_b1", 1), Sample("bad_b2", 2), Sample("tiny_b3", 3))
)


def build(configuration, sample, device):
    if sample.name.startswith("bad"):
        raise RuntimeError("this library\nis too new")
    with torch.device(device):
        return SimpleNamespace(module=nn.Linear(4, 4).eval(), inputs={"input": torch.zeros(sample.batch, 4)})


def test_a_sample_that_fails_is_a_row_and_the_rest_goes_on(tmp_path):
    rows = export_configuration(CONFIGURATION, tmp_path / "7.tar.gz", opset=20, build=build)
    assert [row.status for row in rows] == ["ok", "failed", "ok"]
    assert rows[1].error == "RuntimeError: this library is too new"
    assert [name for name, _ in iter_archive(tmp_path / "7.tar.gz")] == ["tiny_b1.onnx", "tiny_b3.onnx"]


def test_the_manifest_holds_no_times():
    rows = export_manifest([], 20)
    assert rows["samples"] == {} and "seconds" not in json.dumps(rows)


def test_a_catalog_is_exported_in_processes_and_a_second_call_only_copies(tmp_path):
    path = tmp_path / "catalog.json"
    path.write_text(load_catalog("starter").subset([601], samples=1).to_json())
    seen = []
    for attempt in ("first", "second"):
        seen.append([])
        rows = export_catalog(
            path, tmp_path / attempt, tmp_path / "work", opset=20, on_progress=lambda done, *_: seen[-1].append(done)
        )
    assert [row.status for row in rows] == ["ok"]
    assert (tmp_path / "first" / "601.tar.gz").read_bytes() == (tmp_path / "second" / "601.tar.gz").read_bytes()
    assert seen == [[0, 1], [1]]
    (content,) = [content for _, content in iter_archive(tmp_path / "first" / "601.tar.gz")]
    assert onnx.load_model_from_string(content).graph.node
