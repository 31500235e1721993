import json

import pytest


def test_compilers_are_listed_with_what_they_lack(project, nnirp):
    code, out, _ = nnirp("compilers", "list", "--json")
    found = json.loads(out)
    assert code == 0 and next(e["experiment"] for e in found["experiments"]) == "architectures"
    states = {compiler["name"]: compiler["state"] for compiler in found["compilers"]}
    assert states["identity"] == "" and states["tensorrt"].startswith(("tensorrt not installed", "no GPU"))


def test_a_plan_says_order_runs_and_minutes_and_measures_nothing(project, nnirp):
    pytest.importorskip("tvm", reason="install the extra `tvm`")
    command = ("compilers", "sweep", "cpu", "identity", "tvm", "--experiment", "conv2d", "--experiment", "conv_blocks")
    code, out, _ = nnirp(*command, "--plan", "--budget-minutes", "90", "--json")
    found = json.loads(out)
    assert code == 0 and found["minutes"] > 0 and found["budget_minutes"] == 90
    assert found["runs"] == sum(len(step["runs"]) for step in found["steps"])
    assert [(s["experiment"], s["compiler"]) for s in found["steps"]][:2] == [
        ("conv_blocks", "identity"),
        ("conv_blocks", "tvm"),
    ]
    assert any(step["left_out"] for step in found["steps"] if step["compiler"] == "tvm")
    code, out, _ = nnirp(*command, "--plan")
    assert code == 0 and "minutes on a quiet machine" in out
    assert not (project / "data").exists()


def test_bad_input_is_refused_and_nothing_is_written(project, nnirp):
    for arguments, word in (
        (("run", "conv2d", "glow"), "glow"),
        (("run", "convolutions", "identity"), "convolutions"),
        (("sweep", "cpu", "identity", "tensorrt"), "TensorRT"),
        (("sweep", "A B", "identity"), "label"),
        (("analyze",), "nnirp compilers run"),
        (("analyze", "--statistic", "mode"), "mode"),
        (("import", "absent.csv", "--columns", "absent.yaml"), "absent.yaml"),
    ):
        code, _, error = nnirp("compilers", *arguments)
        assert code == 2 and word in error and "Traceback" not in error, error
    assert not (project / "data").exists() and not (project / "reports").exists()
