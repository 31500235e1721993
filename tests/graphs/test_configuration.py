import json
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from nnirp.graphs.configuration import PROGRESS, ConfigurationExport, groups
from nnirp.graphs.export import Timings, export_graph


@dataclass(frozen=True)
class Sample:
    name: str
    batch: int
    size: int = 4
    mode: str = "forward"
    precision: str = "fp32"
    arguments: dict = field(default_factory=dict)


class Plain(nn.Module):
    def forward(self, x):
        return (x.flatten(0, 1) @ torch.ones(x.shape[-1], 4, device=x.device)).reshape(x.shape[0], 3, 4) + 1


class BatchBaked(nn.Module):
    """Does other work at large batches."""

    def forward(self, x):
        return x.relu().exp() if x.shape[0] > 4 else x.relu()


def exporter(module, seen):
    def export(configuration, sample):
        if sample.name.startswith("bad"):
            raise RuntimeError("this library\nis too new")
        seen.append(sample.batch)
        inputs = {"x": torch.zeros(sample.batch, 3, sample.size, device="meta")}
        return export_graph(module, inputs), Timings(0.0, 1.0, 2.0)

    return export


def run(module, samples, folder):
    seen = []
    configuration = SimpleNamespace(id=7, name="tiny", samples=tuple(samples))
    return ConfigurationExport(configuration, folder, exporter(module, seen)).run(), seen


BATCHES = [Sample(f"s_b{b}", b) for b in (1, 2, 3, 4, 5, 8, 16)]


def test_samples_that_differ_in_the_batch_alone_are_a_group():
    other = Sample("wide_b1", 1, arguments={"width": 2})
    assert [[s.name for s in group] for group in groups([BATCHES[1], other, BATCHES[0]])] == [
        ["s_b1", "s_b2"],
        ["wide_b1"],
    ]


def test_four_of_many_batches_are_traced_and_the_rest_derived(tmp_path):
    rows, seen = run(Plain(), BATCHES, tmp_path)
    assert sorted(seen) == [1, 2, 3, 16]
    assert [row.method for row in rows] == ["traced", "traced", "traced", "derived", "derived", "derived", "traced"]
    assert all(row.status == "ok" and (tmp_path / f"{row.sample}.onnx").is_file() for row in rows)


def test_a_second_group_needs_two_traces_only(tmp_path):
    _, seen = run(Plain(), [*BATCHES, *(Sample(f"m_b{b}", b, size=9) for b in (1, 2, 3, 8))], tmp_path)
    assert sorted(seen) == [1, 2, 2, 3, 3, 16]


def test_a_model_that_bakes_its_batch_is_traced_throughout_and_this_is_recorded(tmp_path):
    rows, seen = run(BatchBaked(), BATCHES, tmp_path)
    assert sorted(seen) == [1, 2, 3, 4, 5, 8, 16]
    assert {row.sample: row.note for row in rows}["s_b5"] == "derived graphs differ"


def test_a_sample_that_fails_is_a_row_and_the_rest_goes_on(tmp_path):
    rows, _ = run(Plain(), [BATCHES[0], Sample("bad_b2", 2), BATCHES[2]], tmp_path)
    assert [row.status for row in rows] == ["ok", "failed", "ok"]
    assert rows[1].error == "RuntimeError: this library is too new"


@pytest.mark.parametrize("cut", [b"", b'{"rows": [{"sam'])
def test_a_killed_export_goes_on_after_its_last_group(tmp_path, cut):
    samples = [Sample("a_b1", 1), Sample("b_b1", 1, size=5)]
    run(Plain(), samples[:1], tmp_path)
    with (tmp_path / PROGRESS).open("ab") as stream:
        stream.write(cut)
    rows, seen = run(Plain(), samples, tmp_path)
    assert [row.sample for row in rows] == ["a_b1", "b_b1"] and len(seen) == 1
    assert all(json.loads(line) for line in (tmp_path / PROGRESS).read_text().splitlines())
