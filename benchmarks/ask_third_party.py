"""ONNX files that Python packages ship: predicted against measured runtime on this machine, whatever the error is.

The files are those of `third_party.json`, looked for in the folders given. Each is predicted by the kept predictor and run in ONNX
Runtime on one thread: warm-up, then repeats for a second, of which the 10th percentile counts, as in the published labels. A
predictor of another runtime (the published one learned on eager PyTorch) says the time of that runtime: the column `runtime`
names it. Run it on a quiet machine: `nnirp doctor` says whether it is one.

    python benchmarks/ask_third_party.py ~/scratch/site-packages --write docs/tables/third-party-predictions.csv
"""

import argparse
import csv
import json
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from statistics import median, quantiles

import onnx
import onnxruntime

from machine import describe, markdown
from nnirp.errors import NnirpError
from nnirp.graphs.frontends import Asked
from nnirp.graphs.probing import fill_absent
from nnirp.graphs.reading import read_onnx
from nnirp.graphs.shapes import complete_shapes
from nnirp.prediction.answer import Answer
from nnirp.prediction.asking import ask
from nnirp.prediction.kept import find_kept
from nnirp.project import Project, find_project
from third_party import LIST, find, random_input

WARM_UP, SECONDS, LEAST = 3, 1.0, 10
HEADER = (
    "package",
    "file",
    "nodes",
    "runtime",
    "predicted ms",
    "low",
    "high",
    "measured ms",
    "error %",
    "inside",
    "unlike the pool",
)


def measured_ms(model: onnx.ModelProto) -> float:
    """The 10th percentile of one inference in ONNX Runtime on one thread, in milliseconds."""
    model = fill_absent(model) or model
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    inputs = {value.name: random_input(value) for value in session.get_inputs()}
    times: list[float] = []
    for _ in range(WARM_UP):
        session.run(None, inputs)
    ends = time.perf_counter() + SECONDS
    while len(times) < LEAST or time.perf_counter() < ends:
        begin = time.perf_counter()
        session.run(None, inputs)
        times.append(1e3 * (time.perf_counter() - begin))
    return quantiles(times, n=10)[0]


def row(package: str, path: Path, batch: int, dims: Mapping[str, int], answer: Answer) -> tuple[object, ...]:
    """One file's line of the table."""
    runtime = next(e for e in answer.estimates if e.target == "runtime_ms")
    measured = measured_ms(complete_shapes(read_onnx(path), batch, dims))
    novelty = answer.novelty
    why = [*novelty.operators, *novelty.bigrams[:2], *(s.split(" ")[0] for s in novelty.sizes)]
    inside = "yes" if runtime.low <= measured <= runtime.high else "no"
    values = (runtime.value, runtime.low, runtime.high, measured)
    error = f"{100 * (runtime.value / measured - 1):+.1f}"
    numbers = [f"{value:.4g}" for value in values]
    return package, path.name, answer.nodes, answer.rests_on["runtime"] or "?", *numbers, error, inside, " ".join(why)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", type=Path, nargs="+", help="folders that hold the packages")
    parser.add_argument("--root", type=Path, help="a dataset root with models; the project's own by default")
    parser.add_argument("--write", type=Path, help="CSV to write")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    home = find_project(Path(__file__).parent)
    project = Project(home.root, arguments.root.resolve()) if arguments.root else home
    kept = find_kept(project.models, project.manifests)
    rows, refused = [], []
    for entry in json.loads(LIST.read_text(encoding="utf-8")):
        path = find(arguments.roots, entry["file"])
        if path is None:
            print(f"not found: {entry['file']} of {entry['package']}", file=sys.stderr)
            continue
        batch, dims = entry.get("batch", 1), entry.get("dims", {})
        try:
            encoded_batch = batch if "batch" in entry else None
            (answer,) = ask(str(path), [Asked(batch=encoded_batch, dimensions=dims)], kept)
        except NnirpError as error:
            try:  # a file that leaves only its batch open
                (answer,) = ask(str(path), [Asked(batch=batch, dimensions=dims)], kept)
            except NnirpError:
                refused.append(f"refused: {path.name}: {' '.join(str(error).split())}")
                continue
        rows.append(row(entry["package"], path, batch, dims, answer))
    if arguments.write and rows:
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
        with arguments.write.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    print(describe(("onnx", "onnxruntime", "torch")))
    print(markdown(HEADER, rows))
    print("\n".join(refused))
    errors = [abs(float(r[8])) for r in rows]
    if errors:
        inside = sum(r[9] == "yes" for r in rows)
        print(
            f"{len(rows)} files answered, {len(refused)} refused; median error {median(errors):.1f} %, mean "
            f"{sum(errors) / len(errors):.1f} %; {inside} measured times inside the interval"
        )
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
