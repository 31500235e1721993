"""Candidates a minute of a design space, beside tracing and encoding each one.

The space is a BERT encoder of 2 to 24 layers over width, heads and batch. A sample of it is also traced candidate by candidate, which is
what a search without sharing does; both give the same figures, which is checked.

    python benchmarks/explore.py
"""

import argparse
import random
import time
from pathlib import Path

from machine import describe, markdown
from nnirp.features import encode
from nnirp.prediction.exploration.candidates import Candidates, trace_candidate
from nnirp.prediction.exploration.scoring import scorer
from nnirp.prediction.exploration.search import explore
from nnirp.prediction.exploration.spec import Range, Spec
from nnirp.prediction.kept import find_kept
from nnirp.project import Project, find_project

TARGET_A_MINUTE = 200
SPACE = Spec(
    builder="text_encoder",
    family="attention_encoder",
    arguments={"model_type": "bert", "intermediate_size": "4 * hidden_size"},
    vary={
        "num_hidden_layers": Range(low=4, high=24, step=2),
        "hidden_size": [192, 384, 576, 768, 960, 1152],
        "num_attention_heads": [6, 12],
        "batch": [2, 4, 8, 16],
    },
    depth="num_hidden_layers",
    require=["hidden_size % num_attention_heads == 0"],
    size=128,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traced", type=int, default=5, help="candidates that are traced one by one")
    parser.add_argument("--root", type=Path, help="a dataset root with models; the project's own by default")
    arguments = parser.parse_args()
    home = find_project(Path(__file__).parent)
    project = Project(home.root, arguments.root.resolve()) if arguments.root else home
    score = scorer(find_kept(project.models, project.manifests))
    trace = trace_candidate(SPACE)
    started, processor = time.perf_counter(), time.process_time()
    candidates = Candidates(SPACE, trace)
    found = explore(SPACE, candidates, score)
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    chosen = random.Random(0).sample(range(len(found.candidates)), arguments.traced)
    started, worst, direct_processor = time.perf_counter(), 0.0, time.process_time()
    for number in chosen:
        candidate = found.candidates[number]
        values = SPACE.complete(candidate.point)
        (direct,) = score([encode(trace(values), batch=values["batch"])])
        worst = max(worst, *(abs(direct[name] / candidate.figures[name] - 1) for name in direct))
    direct_seconds, direct_processor = time.perf_counter() - started, time.process_time() - direct_processor
    rows = [
        ("nnirp explore", len(found.candidates), candidates.counts.traced, f"{seconds:.1f}", f"{processor:.1f}", f"{60 * len(found.candidates) / seconds:,.0f}", f"{60 * len(found.candidates) / processor:,.0f}"),
        ("each traced", arguments.traced, arguments.traced, f"{direct_seconds:.1f}", f"{direct_processor:.1f}", f"{60 * arguments.traced / direct_seconds:,.0f}", f"{60 * arguments.traced / direct_processor:,.0f}"),
    ]  # fmt: skip
    print(describe(("torch", "onnx", "transformers")))
    print(markdown(("way", "candidates", "graphs traced", "seconds", "CPU s", "a minute", "a CPU minute"), rows))
    print(f"largest difference of a figure between the two: {worst:.2e}; {candidates.counts.equal} checks equal")
    reached = 60 * len(found.candidates) / seconds >= TARGET_A_MINUTE
    print(f"target {TARGET_A_MINUTE} a minute {'reached' if reached else 'missed'} on one core")
    return 0 if reached and worst < 1e-3 else 1


if __name__ == "__main__":
    raise SystemExit(main())
