import json

import numpy as np
import pytest

from nnirp.errors import InputError, NotPulledError
from nnirp.layers.manifests import (
    Clusters,
    DatasetManifest,
    ModelTypes,
    Splits,
    read_manifest,
    sample_table,
    write_manifest,
)

DATASET = {
    "schema": 1,
    "targets": ["runtime_ms"],
    "target_statistic": "median",
    "vocabulary": {"version": 1, "digest": "d"},
    "form": "canonical",
    "encoder_version": 1,
    "fingerprint": None,
    "dropped": {"a": "why"},
}


def written(tmp_path, content):
    (tmp_path / "m.json").write_text(json.dumps(content))
    return tmp_path / "m.json"


def test_model_types_hold_an_id_or_a_list(tmp_path):
    assert read_manifest(written(tmp_path, {"bert": 3, "vit": [1, 2]}), ModelTypes).root == {"bert": [3], "vit": [1, 2]}


def test_the_dataset_manifest_round_trips(tmp_path):
    manifest = read_manifest(written(tmp_path, DATASET), DatasetManifest)
    write_manifest(tmp_path / "n.json", manifest)
    assert json.loads((tmp_path / "n.json").read_text()) == DATASET and manifest.schema_version == 1


@pytest.mark.parametrize("content", [{"train": [1], "val": []}, {"train": ["1"], "val": [], "test": []}, [], 3])
def test_malformed_splits_are_refused_on_one_line(tmp_path, content):
    with pytest.raises(InputError, match=r"m\.json") as caught:
        read_manifest(written(tmp_path, content), Splits)
    assert "\n" not in str(caught.value)


def test_missing_and_unreadable_manifests_are_named(tmp_path):
    with pytest.raises(NotPulledError, match="dvc pull"):
        read_manifest(tmp_path / "m.json", Splits)
    (tmp_path / "m.json").write_bytes(b"\xff{")
    with pytest.raises(InputError, match="JSON"):
        read_manifest(tmp_path / "m.json", Clusters)


def test_metadata_of_a_download_comes_from_clusters_and_names(root):
    names = ["apple--aim_im224_b4_fp32", "gpt2_seq64_decode_b2_bf16", "odd"]
    table = sample_table(root, names, [1, 7, 99], np.array([2.0, 1.0, 3.0]))
    assert table["batch"].tolist() == [4, 2, 8] and table["size"].tolist() == [224, 64, 0]
    assert table["family"].tolist() == ["convolutional", "recurrent", "unknown"]
    assert table["mode"].tolist() == ["forward", "decode", "forward"] and table["precision"][1] == "bf16"


def test_the_catalog_wins_over_the_name(root):
    sample = {
        "name": "a_im1_b1_fp32",
        "batch": 16,
        "size": 7,
        "precision": "bf16",
        "mode": "prefill",
        "configuration_id": 1,
    }
    row = {"id": 1, "name": "resnet", "family": "f", "sub_family": "s", "parametric": True, "samples": [sample]}
    (root / "manifests" / "catalog.json").write_text(json.dumps({"schema": 1, "configurations": [row]}))
    found = sample_table(root, ["a_im1_b1_fp32"], [1], np.zeros(1)).iloc[0]
    assert (found.batch, found["size"], found.precision, found["mode"], found.parametric) == (
        16,
        7,
        "bf16",
        "prefill",
        True,
    )
