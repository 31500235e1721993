import json
import re

import onnx
import onnx.parser
import pytest

from nnirp.graphs.static import defect
from nnirp.layers.archives import iter_archive, write_archive
from nnirp.layers.samples import dump_sample
from nnirp.layers.verify import verify

NAME = "net1_im32_b1_fp32"


def rewrite(path, change):
    members = dict(iter_archive(path))
    change(members)
    write_archive(path, members.items())


def test_a_whole_root_has_no_problem(root):
    assert verify(root) == []


def test_an_empty_root_is_a_problem(tmp_path):
    assert "none of the layers" in verify(tmp_path)[0].what


@pytest.mark.parametrize(
    ("layer", "change", "expected"),
    [
        ("profiling", lambda m, g, r: m.pop(f"{NAME}.json"), "no usable entry in profiling"),
        ("profiling", lambda m, g, r: m.update({f"{NAME}.json": b"{"}), "not JSON"),
        ("profiling", lambda m, g, r: m.update({f"{NAME}.json": r(fingerprint={"cpu": "b"})}), "2 devices"),
        ("profiling", lambda m, g, r: m.update({"notes.txt": b""}), "not a .json file"),
        ("pyg-features", lambda m, g, r: m.update({f"{NAME}.pt.zst": b"broken"}), "zstandard"),
        (
            "pyg-features",
            lambda m, g, r: m.update({f"{NAME}.pt.zst": dump_sample(g(targets=1), 3)}),
            r"\[1, 2\] targets",
        ),
        ("pyg-features", lambda m, g, r: m.update({"net2_im32_b1_fp32.pt.zst": dump_sample(g(), 3)}), "also in"),
    ],
)
def test_each_fault_is_found_where_it_is(root, make_graph, make_record, layer, change, expected):
    rewrite(root / layer / "1.tar.gz", lambda members: change(members, make_graph, make_record))
    problems = verify(root)
    assert problems and any(re.search(expected, p.what) for p in problems), problems
    assert all(p.where and "\n" not in p.what for p in problems)


def test_a_missing_label_a_truncated_archive_and_a_straddling_cluster_are_found(root, make_graph):
    graph = make_graph()
    del graph.y
    rewrite(root / "pyg-features" / "1.tar.gz", lambda m: m.update({f"{NAME}.pt.zst": dump_sample(graph, 3)}))
    broken = root / "profiling" / "2.tar.gz"
    broken.write_bytes(broken.read_bytes()[:-20])
    (root / "manifests" / "splits.json").write_text(json.dumps({"train": [1], "val": [1, 2], "test": [7]}))
    what = " | ".join(f"{p.where}: {p.what}" for p in verify(root))
    assert "has no label" in what and "profiling/2.tar.gz" in what and "resnet-1 straddles train, val" in what


def test_hashes_of_the_lock_file_are_compared(tmp_path, root):
    pytest.importorskip("yaml")
    (root.parent / "dvc.lock").write_text(
        json.dumps({"stages": {"encode": {"outs": [{"path": f"{root.name}/manifests/splits.json", "md5": "0"}]}}})
    )
    try:
        assert [p.where for p in verify(root)] == [f"{root.name}/manifests/splits.json"]
    finally:
        (root.parent / "dvc.lock").unlink()


def test_graphs_that_the_checker_refuses_are_named(root):
    good = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 20]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    )
    wrong, shapeless = (onnx.ModelProto.FromString(good.SerializeToString()) for _ in range(2))
    wrong.graph.node[0].op_type = "Rellu"
    shapeless.graph.node.add(op_type="Relu", input=["y"], output=["z"])
    contents = {"net1_im32_b1_fp32": good, "wrong": wrong, "shapeless": shapeless}
    write_archive(
        root / "onnx-graphs" / "1.tar.gz", [(f"{n}.onnx", g.SerializeToString()) for n, g in contents.items()]
    )
    write_archive(root / "onnx-graphs" / "2.tar.gz", [("text.onnx", b"no protobuf at all"), ("empty.onnx", b"")])

    def graphs():
        return {p.where.rsplit(": ", 1)[-1]: p.what for p in verify(root) if p.where.startswith("onnx-graphs/")}

    assert graphs().keys() == {"empty.onnx"}  # a copy of somebody's layers, which promise no more
    exported = {name: {"status": "ok"} for name in [*contents, "text", "empty"]}
    (root / "manifests" / "export.json").write_text(json.dumps({"samples": exported}))
    found = graphs()
    assert found.keys() == {"wrong.onnx", "shapeless.onnx", "text.onnx", "empty.onnx"}
    assert "Rellu" in found["wrong.onnx"] and "static shape, such as 'z'" in found["shapeless.onnx"]


def test_weights_without_content_are_no_defect():
    text = '<ir_version: 8, opset_import: ["": 20]> g (float[2] x) => (float[2] y) <float[2] w> { y = Add(x, w) }'
    model = onnx.parser.parse_model(text)
    weight = model.graph.initializer.add(name="w", data_type=1, dims=[2], data_location=onnx.TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="weights")
    assert defect(model) is None
    weight.dims[0] = 3
    assert "onnx.checker" in defect(model)
