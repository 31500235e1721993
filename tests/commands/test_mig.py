import json

from small_models import write_model


def refused(result, word):
    code, _, error = result
    assert code == 2 and word in error and "Traceback" not in error, error


def test_the_first_line_says_what_memory_and_latency_are(project, nnirp):
    path = write_model(project / "model.onnx", 256)
    code, out, _ = nnirp("mig", path, "--gpu", "h200-141gb")
    assert code == 0 and out.startswith("no predictor of H200-141GB here: memory is arithmetic")
    assert "Undefined" not in out


def test_every_card_is_asked_where_none_is_named(project, nnirp):
    path = write_model(project / "model.onnx", 256, batch="N")
    code, out, _ = nnirp("mig", path, "--batch", "1,64", "--json")
    answers = json.loads(out)
    assert code == 0 and len({a["gpu"] for a in answers}) == 8 and {a["batch"] for a in answers} == {1, 64}
    assert all(row["reason"] for a in answers for row in a["rows"])


def test_memory_alone_is_enough(project, nnirp):
    code, out, _ = nnirp("mig", "--memory-mb", "6294", "--gpu", "A100-40GB", "--json")
    assert code == 0 and json.loads(out)[0]["best"] == "2g.10gb"
    code, out, _ = nnirp("mig", "--memory-mb", "400000", "--gpu", "A100-40GB")
    assert code == 0 and "does not fit on A100-40GB" in out


def test_contradicting_arguments_are_refused(project, nnirp):
    path = write_model(project / "model.onnx", 64)
    refused(nnirp("mig"), "--memory-mb")
    refused(nnirp("mig", path, "--memory-mb", "5"), "--memory-mb")
    refused(nnirp("mig", path, "--gpu", "A100"), "A100-40GB")
    refused(nnirp("mig", path, "--precision", "int8"), "--precision")
    refused(nnirp("mig", "--memory-mb", "5", "--max-latency-ms", "3"), "--max-latency-ms")
