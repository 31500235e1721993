import json

import pytest

from nnirp.errors import InputError, NotPulledError
from nnirp.layers.dataset import load_dataset
from nnirp.layers.packing import pack


def test_a_download_loads_in_three_lines(root):
    data = load_dataset(root)
    assert [len(data.train), len(data.val), len(data.test)] == [2, 2, 2]
    graph = data.test[0]
    assert (graph.family, graph.sub_family, graph.cluster, graph.configuration) == ("recurrent", "lstm", "lstm-7", 7)
    assert (graph.input_batch, graph.precision) == (1, "fp32") and data.train.targets == ("runtime_ms", "peak_vram_mb")


def test_an_index_file_wins_and_folds_have_names(root):
    parts = {"train": ["net1_im32_b1_fp32"], "val": [], "test": ["net7_im32_b4_fp32"]}
    (root / "splits").mkdir()
    content = {"schema": 1, "protocol": "family", "folds": [{"name": "recurrent", **parts}]}
    (root / "splits" / "family.json").write_text(json.dumps(content))
    data = load_dataset(root, protocol="family", fold="recurrent")
    assert data.test.samples["sample"].tolist() == parts["test"] and len(data.val) == 0
    with pytest.raises(NotPulledError):
        load_dataset(root, protocol="random")
    with pytest.raises(InputError, match="no fold"):
        load_dataset(root, protocol="family", fold="x")


def test_the_packed_store_is_cached_by_its_sources(root):
    first = pack(root)
    folders = list((root / ".store").glob("*/"))
    assert pack(root).samples.equals(first.samples) and list((root / ".store").glob("*/")) == folders
    clusters = json.loads((root / "manifests" / "clusters.json").read_text())
    clusters["clusters"]["lstm-7"]["sub_family"] = "gru"
    (root / "manifests" / "clusters.json").write_text(json.dumps(clusters))
    assert "gru" in set(pack(root).samples["sub_family"]) and len(list((root / ".store").glob("*/"))) == 2
    assert (pack(root, cache=False).x == first.x).all()


def test_another_vocabulary_and_an_absent_layer_are_refused(root, tmp_path):
    manifest = {
        "schema": 1,
        "targets": ["a", "b"],
        "target_statistic": "median",
        "form": "canonical",
        "encoder_version": 1,
    }
    path = root / "manifests" / "dataset.json"
    path.write_text(json.dumps(manifest | {"vocabulary": {"version": 9, "digest": "other"}}))
    with pytest.raises(InputError, match="vocabulary"):
        pack(root)
    with pytest.raises(NotPulledError, match="dvc pull"):
        pack(tmp_path / "nothing")
