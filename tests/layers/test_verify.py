import json
import re

import pytest

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
