"""How long an answer takes, cold and warm, beside measuring the model, in the same run.

The file is the published graph whose number of nodes is nearest to 1,000. *Cold* is the whole command in a fresh process; *warm*
is the same question in a process that has answered before; *measuring* is a fresh process that imports ONNX Runtime, fills the
weights, builds a session, warms up and times ten inferences on one thread. The champion must be exported: `--root` with
`champion.onnx` beside its weights; without one the predictor itself answers, and the table says so.

    python benchmarks/ask.py
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from machine import describe, markdown
from nnirp.graphs.frontends import Asked
from nnirp.graphs.reading import read_onnx
from nnirp.layers.archives import iter_archive
from nnirp.prediction.asking import ask
from nnirp.prediction.kept import find_kept
from nnirp.prediction.predict import champion_of
from nnirp.project import Project, find_project

COLD_S, WARM_MS, NODES = 1.5, 30.0, 1000
MEASURE = """
import sys, time
started = time.perf_counter()
import numpy as np, onnxruntime
from nnirp.graphs.probing import fill_absent
from nnirp.graphs.reading import read_onnx
model = fill_absent(read_onnx(sys.argv[1]))
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}
inputs = {v.name: np.ones([int(d) for d in v.shape], kinds[v.type]) for v in session.get_inputs()}
times = []
for _ in range(13):
    begin = time.perf_counter()
    session.run(None, inputs)
    times.append(time.perf_counter() - begin)
print(time.perf_counter() - started, 1e3 * sorted(times[3:])[5])
"""


def nearest_graph(archives: Path) -> tuple[str, bytes, int]:
    """Name, content and number of nodes of the graph nearest to `NODES`."""
    members = [(name, content) for path in sorted(archives.glob("*.tar.gz")) for name, content in iter_archive(path)]
    counted = [(abs(len(read_onnx(content).graph.node) - NODES), name, content) for name, content in members]
    _, name, content = min(counted)
    return name, content, len(read_onnx(content).graph.node)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, help="a dataset root with models; the project's own by default")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    home = find_project(Path(__file__).parent)
    project = Project(home.root, arguments.root.resolve()) if arguments.root else home
    kept = find_kept(project.models, project.manifests)
    exported = champion_of(kept.weights) is not None
    name, content, nodes = nearest_graph(home.data / "onnx-graphs")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(content)
        command = [sys.executable, "-m", "nnirp.cli", "predict", str(path), "--json"]
        command += ["--root", str(arguments.root)] if arguments.root else []
        cold = []
        for _ in range(arguments.repeats):
            started = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=home.root)
            cold.append(time.perf_counter() - started)
        (answer,) = json.loads(done.stdout)
        warm = []
        for _ in range(20):
            started = time.perf_counter()
            ask(str(path), [Asked()], kept, top_operators=10)
            warm.append(1e3 * (time.perf_counter() - started))
        measured = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=False
        )
    seconds, inference = map(float, measured.stdout.split()) if measured.returncode == 0 else (float("nan"),) * 2
    predicted = next(e["value"] for e in answer["estimates"] if e["target"] == "runtime_ms")
    rows = [
        ("nnirp predict, cold", f"{median(cold):.2f} s", f"{min(cold):.2f} s", f"{predicted:.3g}"),
        ("nnirp, warm", f"{median(warm):.1f} ms", f"{min(warm):.1f} ms", f"{predicted:.3g}"),
        ("measuring in ONNX Runtime, cold", f"{seconds:.2f} s", "–", f"{inference:.3g}"),
    ]
    print(describe(("onnx", "onnxruntime", "torch")))
    print(f"{name}: {nodes} nodes; {'exported champion' if exported else 'the predictor itself: no champion.onnx'}")
    print(
        markdown(("way", "median", "fastest", "ms an inference (predicted for the dataset's runtime, measured)"), rows)
    )
    reached = median(cold) <= COLD_S and median(warm) <= WARM_MS
    print(f"targets {COLD_S} s cold and {WARM_MS:.0f} ms warm {'reached' if reached else 'missed'}")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
