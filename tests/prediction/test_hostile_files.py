"""Files that nobody should trust end in an answer or one line: no crash, no hang over 60 s, at most 4 GiB.

`NNIRP_FUZZ=20000` damages that many files; the default is a few dozen.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from hostile import SECONDS
from onnx import TensorProto, helper

sys.path.append(str(Path(__file__).parents[1] / "layers"))
from mutations import mutate

HERE = Path(__file__).parent
SHIPPED = Path(onnx.__file__).parent / "backend" / "test" / "data"
DAMAGED = int(os.environ.get("NNIRP_FUZZ", "40"))


def ask_about(paths):
    """{name: (seconds, outcome)} of every file; fails where the process did not live to the end."""
    command = [sys.executable, str(HERE / "hostile.py"), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    answers = {name: (seconds, outcome) for name, seconds, outcome in map(json.loads, done.stdout.splitlines())}
    left = [p.name for p in paths if p.name not in answers]
    assert done.returncode == 0 and not left, f"it died of {left[:1]}: code {done.returncode}, {done.stderr[-600:]}"
    return answers


def chain(nodes, operator="Relu", shape=(1, 8), **attributes):
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("t0", f"t{nodes}"))
    made = [helper.make_node(operator, [f"t{i}"], [f"t{i + 1}"], **attributes) for i in range(nodes)]
    return helper.make_model(helper.make_graph(made, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 18)])


def cycle():
    model = chain(3)
    model.graph.node[0].input[0] = "t3"
    return model


def nested(depth):
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "b", [], [y])
    for _ in range(depth):
        node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
        body = helper.make_graph([node], "b", [], [y])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])
    graph = helper.make_graph(body.node, "g", [condition, x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def test_what_is_no_model_is_refused(tmp_path):
    generator = random.Random(0)
    made = {
        "empty.onnx": b"",
        "text.onnx": b"this is no model\n" * 100,
        "random.onnx": generator.randbytes(200_000),
        "zeros.onnx": bytes(1 << 20),
        "empty.tflite": b"",
        "cycle.onnx": cycle().SerializeToString(),
        "huge-dims.onnx": chain(2, shape=(1 << 40, 1 << 40)).SerializeToString(),
        "unknown-axis.onnx": chain(2, "Softmax", axis=1 << 40).SerializeToString(),
    }
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.onnx").mkdir()
    with (tmp_path / "sparse.onnx").open("wb") as file:
        file.truncate(3_000_000_000)
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "loop.onnx").symlink_to(tmp_path / "loop.onnx")
    answers = ask_about([*sorted(tmp_path.iterdir()), tmp_path / "gone.onnx"])
    refused = {name for name, (_, outcome) in answers.items() if outcome.startswith("refused: ")}
    assert refused >= {
        "empty.onnx",
        "text.onnx",
        "random.onnx",
        "zeros.onnx",
        "folder.onnx",
        "sparse.onnx",
        "cycle.onnx",
    }
    assert refused >= {"pipe.onnx", "loop.onnx", "gone.onnx", "empty.tflite"}
    assert all("\n" not in outcome for _, outcome in answers.values())


def test_large_and_deep_graphs_are_answered_or_refused_in_time(tmp_path):
    onnx.save(chain(200_000), tmp_path / "long.onnx")
    onnx.save(chain(600_000), tmp_path / "longer.onnx")
    onnx.save(nested(10), tmp_path / "nested.onnx")
    answers = ask_about(sorted(tmp_path.glob("*.onnx")))
    assert "instance" in answers["long.onnx"][1]
    assert answers["longer.onnx"][1].startswith("refused: ") and "500,000" in answers["longer.onnx"][1]
    assert all(seconds < SECONDS for seconds, _ in answers.values())


@pytest.mark.skipif(not (SHIPPED / "light").is_dir(), reason="the onnx package ships no files here")
def test_damaged_models_are_answered_or_refused(tmp_path):
    sources = [path.read_bytes() for path in sorted((SHIPPED / "light").glob("*.onnx"))]
    generator = random.Random(1)
    for number in range(DAMAGED):
        content = mutate(generator.choice(sources), generator)
        (tmp_path / f"{number}.onnx").write_bytes(content)
    answers = ask_about(sorted(tmp_path.iterdir()))
    assert len(answers) == DAMAGED and all(seconds < SECONDS for seconds, _ in answers.values())
