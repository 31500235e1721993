import json
import math

import pytest

from nnirp.errors import InputError, NotPulledError
from nnirp.layers.archives import iter_archive, write_archive
from nnirp.layers.encode_layer import encode_layer
from nnirp.layers.packing import pack
from nnirp.layers.samples import load_sample
from nnirp.layers.verify import verify

onnx = pytest.importorskip("onnx")
pytest.importorskip("nnirp.graphs.reading")


def model(width: int) -> bytes:
    h, kind = onnx.helper, onnx.TensorProto.FLOAT
    tensors = [h.make_tensor_value_info(n, kind, [2, width]) for n in ("a", "c", "b")]
    nodes = [h.make_node("Relu", ["a"], ["b"]), h.make_node("Sigmoid", ["b"], ["c"])]
    graph = h.make_graph(nodes, "g", tensors[:1], tensors[1:2], value_info=tensors[2:])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 20)]).SerializeToString()


@pytest.fixture
def measured(tmp_path, make_record):
    graphs = {1: ["a_b2_fp32", "b_b2_fp32", "timeout_b2_fp32", "broken_b2_fp32"], 2: ["c_b2_fp32"]}
    for number, names in graphs.items():
        contents = [(f"{n}.onnx", b"not a graph" if n.startswith("broken") else model(number + 3)) for n in names]
        write_archive(tmp_path / "onnx-graphs" / f"{number}.tar.gz", contents)
        records = [
            (f"{n}.json", make_record("timeout" if n.startswith("timeout") else "ok"))
            for n in names
            if n[0] != "b" or n[1] == "r"
        ]
        write_archive(tmp_path / "profiling" / f"{number}.tar.gz", records)
    write_archive(tmp_path / "profiling" / "3.tar.gz", [("d_b2_fp32.json", make_record())])
    return tmp_path


def encoded(root, **settings):
    manifests = root / "manifests"
    return encode_layer(
        root,
        features=root / "pyg-features",
        dataset_manifest=manifests / "dataset.json",
        memory_manifest=manifests / "memory.json",
        **settings,
    )


def test_samples_with_a_graph_and_a_measurement_are_encoded_and_the_others_have_a_reason(measured):
    seen = []
    manifest = encoded(measured, on_progress=lambda *state: seen.append(state[:2]))
    assert seen == [(1, 2), (2, 2)] and manifest.fingerprint == {"cpu": "a"}
    reasons = {name.split("_")[0]: reason for name, reason in manifest.dropped.items()}
    assert reasons["timeout"] == "profiling timeout" and reasons["b"] == "has a graph, but was not measured"
    assert reasons["d"] == "measured, but has no graph" and reasons["broken"].startswith("encoding failed: ")
    store = pack(measured)
    assert store.samples["sample"].tolist() == ["a_b2_fp32", "c_b2_fp32"] and store.targets == (
        "runtime_ms",
        "peak_ram_mb",
    )
    assert store.y[0].tolist() == [1.0, 6.0] and (store.memory > 0).any()
    assert verify(measured) == []


def test_encoding_again_gives_the_same_bytes(measured):
    encoded(measured)
    paths = [p for p in measured.rglob("*") if p.is_file() and ".store" not in p.parts]
    before = {p: p.read_bytes() for p in paths}
    encoded(measured)
    assert {p: p.read_bytes() for p in paths} == before


def test_a_metric_that_was_not_measured_is_nan(measured):
    encoded(measured, targets=("runtime_ms", "peak_vram_mb"), statistic="min")
    (_, content), *_ = iter_archive(measured / "pyg-features" / "2.tar.gz")
    y = load_sample(content).y[0].tolist()
    assert y[0] == 0.0 and math.isnan(y[1])
    with pytest.raises(InputError, match="none of the targets was measured"):
        encoded(measured, targets=("peak_vram_mb",))


def test_two_devices_an_unknown_target_and_an_absent_layer_are_refused(measured, make_record, tmp_path):
    with pytest.raises(InputError, match="no target 'speed'"):
        encoded(measured, targets=("speed",))
    write_archive(measured / "profiling" / "3.tar.gz", [("d_b2_fp32.json", make_record(fingerprint={"cpu": "b"}))])
    with pytest.raises(InputError, match=r"2 devices: .* differ in `cpu` \('a' and 'b'\)"):
        encoded(measured)
    with pytest.raises(NotPulledError, match="onnx-graphs"):
        encoded(tmp_path / "nothing")


def test_a_failed_export_is_the_reason_of_a_missing_graph(measured):
    rows = {"e_b1_fp32": {"status": "failed", "error": "too\nlarge", "nodes": 0}}
    (measured / "manifests").mkdir()
    (measured / "manifests" / "export.json").write_text(json.dumps({"schema": 1, "environment": {}, "samples": rows}))
    assert encoded(measured).dropped["e_b1_fp32"] == "export failed: too large"
