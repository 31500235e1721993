"""Bad input is one line on standard error, exit code 2, and nothing written."""

import io
import pickle
import tarfile

import onnx
import pytest
import torch
import zstandard
from onnx import TensorProto, helper

from nnirp import load_sample
from nnirp.errors import InputError


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def refused(result, *words):
    code, _, error = result
    lines = [line for line in error.splitlines() if line.startswith("error:")]
    assert code == 2, error
    assert len(lines) == 1 and all(word in lines[0] for word in words), error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("  threads: 1", "  threads: -1", "profile.threads"),
        ("  seed: 0", "  sed: 0", "sed"),
        ("  opset: 20", "  opset: twenty", "export.opset"),
    ],
)
def test_a_bad_parameter_stops_every_stage_before_it_writes(project, nnirp, old, new, word):
    path = project / "params.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    before = tree(project)
    refused(nnirp("catalog", "--write"), "params.yaml", word)
    assert tree(project) == before


def test_an_unknown_command_and_option_are_refused(nnirp):
    assert nnirp("dance")[0] == 2
    assert nnirp("catalog", "--colour")[0] == 2


def test_layers_that_were_not_pulled_name_the_command_that_brings_them(project, nnirp):
    refused(nnirp("encode"), "dvc")
    refused(nnirp("split", "--explain"), "dvc pull data/splits")
    refused(nnirp("evaluate"), "dvc pull models")


def sample_root(project, name, content):
    """A dataset root with one archive of graphs and one of profiling that holds the given bytes."""
    for layer in ("onnx-graphs", "profiling"):
        (project / "data" / layer).mkdir(parents=True, exist_ok=True)
    (project / "data" / name).write_bytes(content)
    return project


def tar_gz(name, content=b"x"):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def test_a_truncated_archive_is_refused(project, nnirp):
    whole = tar_gz("a.json", b"0" * 5000)
    sample_root(project, "profiling/1.tar.gz", whole[: len(whole) // 2])
    (project / "data" / "onnx-graphs" / "1.tar.gz").write_bytes(tar_gz("a.onnx"))
    refused(nnirp("encode"), "1.tar.gz")
    assert not (project / "data" / "pyg-features").exists()


def test_a_member_that_leaves_its_archive_is_refused(project, nnirp):
    sample_root(project, "profiling/1.tar.gz", tar_gz("../x"))
    (project / "data" / "onnx-graphs" / "1.tar.gz").write_bytes(tar_gz("a.onnx"))
    refused(nnirp("encode"), "../x")
    assert not (project / "x").exists() and not (project / "data" / "x").exists()


class Malicious:
    def __reduce__(self):
        return (open, ("pwned", "w"))


@pytest.mark.parametrize(
    "write", [lambda value, file: file.write(pickle.dumps(value)), torch.save], ids=["pickle", "torch"]
)
def test_a_malicious_pickle_is_refused_and_not_opened(project, write):
    file = io.BytesIO()
    write(Malicious(), file)
    path = project / "evil.pt.zst"
    path.write_bytes(zstandard.compress(file.getvalue()))
    with pytest.raises(InputError, match=r"evil\.pt\.zst"):
        load_sample(path)
    assert not (project / "pwned").exists()


def onnx_file(path, operator="Relu", shape=(1, 4), domain=""):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    node = helper.make_node(operator, ["x"], ["y"], domain=domain)
    opsets = [helper.make_opsetid("", 18)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    onnx.save(helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=opsets), path)
    return path


def test_a_text_file_given_as_onnx_is_refused(project, nnirp):
    path = project / "model.onnx"
    path.write_text("this is no model\n")
    refused(nnirp("encode", path), "model.onnx", "ONNX")


def test_a_symbolic_batch_without_a_size_is_refused_and_with_one_is_encoded(project, nnirp):
    path = onnx_file(project / "model.onnx", shape=("N", 4))
    refused(nnirp("encode", path), "--batch")
    assert nnirp("encode", path, "--batch", "3")[0] == 0


def test_an_unknown_operator_is_encoded_with_a_warning_that_names_it(project, nnirp):
    path = onnx_file(project / "model.onnx", operator="Frobnicate", domain="acme")
    code, out, error = nnirp("encode", path, "--json")
    assert code == 0 and "Frobnicate" in error and "<UNK>" in out


def test_a_project_that_is_none_is_refused(tmp_path, nnirp):
    refused(nnirp("--project", tmp_path / "nothing", "doctor"), "--project", "clone")


def test_an_unreadable_run_record_is_named_and_fails_the_sync(project, nnirp):
    folder = project / "models" / "a"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{")
    code, _, error = nnirp("tracking", "sync")
    assert code == 1 and str(folder / "run.json") in error
