"""Copies of the published dataset, as either version of its card describes them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import nnirp.features.vocabulary
from nnirp import load_dataset
from nnirp.cli import app
from nnirp.errors import InputError
from nnirp.features.data import to_data
from nnirp.features.encoder import encode
from nnirp.graphs.reading import read_onnx
from nnirp.importers.published import import_published
from nnirp.layers.archives import iter_archive, write_archive
from nnirp.layers.records import Meta, ProfileRecord, statistics, write_record
from nnirp.layers.samples import dump_sample, load_sample
from nnirp.layers.verify import verify
from nnirp.training.matrix import train_protocol

OPERATORS = {792: "Relu", 793: "Sigmoid", 794: "Tanh", 900: "Exp", 901: "Neg", 902: "Abs"}
VALUES = {"Runtime (ms)": [1.0, 2.0, 6.0], "Peak VRAM (MB)": [100.0]}


def card_record(scale):
    """A record in the card's own form: metrics without `_meta`."""
    metrics = {name: statistics([scale * v for v in values]) for name, values in VALUES.items()}
    content = json.loads(write_record(ProfileRecord(metrics=metrics, meta=Meta())))
    content.pop("_meta")
    return json.dumps(content).encode()


def sample(content, scale, targets, renumber=None):
    y = np.log2([3.0 * scale, 100.0 * scale][:targets])  # the mean of the runtimes
    data = to_data(encode(read_onnx(content), form="executed"), y)
    if renumber:
        data.op_type_id = torch.tensor([renumber(i) for i in data.op_type_id.tolist()])
    return dump_sample(data)


@pytest.fixture
def copy(tmp_path, make_network):
    """A copy of six configurations of two samples; `targets` is 1 in version A of the card and 2 in version B."""

    def build(targets=1, renumber=None, graphs=True):
        root = tmp_path / "copy"
        for number, operator in OPERATORS.items():
            names = [f"acme--{operator.lower()}_im8_b{batch}_fp32" for batch in (1, 2)]
            files = [
                make_network(
                    tmp_path / f"{n}.onnx", depth=number - 790, batch=b, operator=operator, identity=True
                ).read_bytes()
                for n, b in zip(names, (1, 2), strict=True)
            ]
            scales = [number / 100, number / 50]
            features = [sample(f, s, targets, renumber) for f, s in zip(files, scales, strict=True)]
            layers = {"pyg-features": (".pt.zst", features), "profiling": (".json", map(card_record, scales))}
            if graphs:
                layers["onnx-graphs"] = (".onnx", files)
            for layer, (suffix, contents) in layers.items():
                members = [(n + suffix, c) for n, c in zip(names, contents, strict=True)]
                write_archive(root / layer / f"{number}.tar.gz", members)
        families = {"resnets": "convolutional", "lstms": "recurrent"}
        clusters = {f"c{i}": {"sub_family": "resnets" if i < 900 else "lstms", "cases": [i]} for i in OPERATORS}
        manifests = root / "manifests"
        manifests.mkdir()
        write = lambda name, content: (manifests / name).write_text(json.dumps(content))  # noqa: E731
        write("clusters.json", {"clusters": clusters, "subfamily_to_family": families})
        write("splits.json", {"train": [792, 793, 900, 901], "val": [794], "test": [902]})
        write("hf_model_type_case_ids.json", {"resnet": 792, "lstm": [900, 901]})
        return root

    return build


@pytest.mark.parametrize("targets", [1, 2])
def test_a_copy_of_either_card_is_adopted_with_its_canonical_split(copy, tmp_path, targets):
    root, output = copy(targets), tmp_path / "root"
    report = import_published(root, output, device="NVIDIA T4")
    assert verify(output) == [] and (output / "pyg-features" / "792.tar.gz").samefile(
        root / "pyg-features" / "792.tar.gz"
    )
    manifest = json.loads((output / "manifests" / "dataset.json").read_text())
    assert manifest["targets"] == ["runtime_ms", "peak_vram_mb"][:targets]
    assert (manifest["target_statistic"], manifest["form"]) == ("mean", "executed") and not report["assumed"]
    assert manifest["fingerprint"]["processor"]["name"] == "NVIDIA T4"
    assert json.loads((output / "manifests" / "hf_model_type_case_ids.json").read_text())["resnet"] == [792]
    assert report["splits"]["cluster"].startswith("taken, leaks: fold 0") and report["splits"]["random"] == "drawn"
    data = load_dataset(output, protocol="cluster")
    assert set(data.test.samples["configuration"]) == {902} and data.train[0].family == "convolutional"
    assert len(load_dataset(output, protocol="family", fold="recurrent").test) == 6


def test_splitting_and_training_work_on_an_adopted_copy(copy, tmp_path, monkeypatch):
    output = tmp_path / "root"
    import_published(copy(), output)
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(Path(__file__).parents[2] / name, tmp_path / name)
    monkeypatch.setattr("sys.argv", ["nnirp", "--project", str(tmp_path), "split", "--root", str(output)])
    with pytest.raises(SystemExit) as stop:
        app()
    assert not stop.value.code and verify(output) == []
    train_protocol(output, "linear", "cluster", tmp_path / "models", seeds=[0], keep_weights=False, root=tmp_path)
    assert (tmp_path / "models" / "0-0" / "predictions.parquet").is_file()


def test_features_alone_are_adopted_and_what_nothing_proves_is_said(copy, tmp_path):
    root = copy(graphs=False)
    shutil.rmtree(root / "profiling")
    (root / "manifests" / "splits.json").unlink()
    report = import_published(root, tmp_path / "root", copy=True)
    assert set(report["assumed"]) == {"vocabulary", "form", "targets", "target_statistic"}
    assert report["splits"]["cluster"] == "drawn" and (tmp_path / "root" / "manifests" / "splits.json").is_file()
    assert verify(tmp_path / "root") == [] and len(load_dataset(tmp_path / "root", protocol="random").train) > 0


def test_a_layer_of_which_only_a_part_was_downloaded_is_left_out(copy, tmp_path):
    root = copy()
    (root / "onnx-graphs" / "792.tar.gz").unlink()
    report = import_published(root, tmp_path / "root")
    assert "1 of the 6 configurations" in report["left_out"]["onnx-graphs"]
    assert not (tmp_path / "root" / "onnx-graphs").exists() and verify(tmp_path / "root") == []


def refused(root, output, match, **arguments):
    with pytest.raises(InputError, match=match):
        import_published(root, output, **arguments)
    assert not [p for p in output.rglob("*") if p.is_file() and ".work" not in p.parts]


def test_features_of_another_vocabulary_are_refused_by_its_digest(copy, tmp_path):
    root = copy()
    import_published(root, tmp_path / "first")
    shutil.copytree(tmp_path / "first" / "manifests", root / "manifests", dirs_exist_ok=True)
    path = root / "manifests" / "dataset.json"
    content = json.loads(path.read_text())
    content["vocabulary"]["digest"] = "0" * 64
    path.write_text(json.dumps(content))
    refused(root, tmp_path / "root", "encoded with vocabulary 000000000000")


def test_operators_under_other_numbers_than_their_graph_says_are_refused_and_encoded_anew(copy, tmp_path):
    root = copy(renumber=lambda i: i % 87 + 1)
    refused(root, tmp_path / "root", "another vocabulary; use --encode")
    import_published(root, tmp_path / "root", encode=True)
    (_, content), *_ = iter_archive(tmp_path / "root" / "pyg-features" / "792.tar.gz")
    relu = nnirp.features.vocabulary.load_vocabulary().index["Relu"]
    assert load_sample(content).op_type_id.tolist() == [relu] and verify(tmp_path / "root") == []
    assert load_dataset(tmp_path / "root").train.targets == ("runtime_ms", "peak_vram_mb")


def test_a_copy_that_contradicts_itself_is_refused(copy, tmp_path):
    root = copy()
    name = next(iter_archive(root / "profiling" / "792.tar.gz"))[0]
    write_archive(root / "profiling" / "792.tar.gz", [(name, card_record(7.92))])
    refused(root, tmp_path / "root", "has no usable entry in profiling")
    shutil.rmtree(root / "profiling")
    (root / "manifests" / "clusters.json").unlink()
    refused(root, tmp_path / "root", r"neither manifests/clusters.json nor manifests/catalog.json")


def test_labels_that_are_not_those_of_the_records_are_refused(copy, tmp_path):
    root = copy()
    for path in (root / "profiling").iterdir():
        write_archive(path, [(name, card_record(1.0)) for name, _ in list(iter_archive(path))])
    refused(root, tmp_path / "root", "column 0 of the labels .* is no metric of the records")


def test_a_folder_of_something_else_is_not_overwritten(copy, tmp_path):
    root = copy()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(InputError, match="not what `nnirp import nnirp` wrote"):
        import_published(root, tmp_path / "mine")
    import_published(root, tmp_path / "root")
    shutil.rmtree(tmp_path / "root" / "manifests")  # as a kill while it is replaced leaves it
    import_published(root, tmp_path / "root")
