"""Does a derived graph equal the traced one, and what does deriving save?

Draws samples of an exported layer whose graphs were derived from two other batches, traces each of them, and compares. The ratio of
times is that of tracing one more batch against deriving it, from the layer's own record where that is at hand.

    python benchmarks/export.py data --samples 50
"""

import argparse
import random
import time
from collections import Counter
from pathlib import Path

import onnx

from machine import describe
from nnirp.catalog import Catalog, build
from nnirp.graphs.batches import same_graph
from nnirp.graphs.export import export_graph
from nnirp.graphs.layer import finished_rows
from nnirp.layers.archives import read_member
from nnirp.layers.manifests import ExportManifest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="a dataset root with onnx-graphs/ and manifests/")
    parser.add_argument("--work", type=Path, default=Path(".work/export"), help="where the export keeps its times")
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    catalog = Catalog.from_json(arguments.root / "manifests" / "catalog.json")
    manifest = ExportManifest.model_validate_json((arguments.root / "manifests" / "export.json").read_bytes())
    methods = Counter(row.method for row in manifest.samples.values() if row.status == "ok")
    print(describe(("torch", "onnx", "onnxscript", "transformers", "timm")))
    print(dict(methods))
    derived = sorted(name for name, row in manifest.samples.items() if row.method == "derived")
    drawn = random.Random(arguments.seed).sample(derived, min(arguments.samples, len(derived)))
    outcomes, seconds = Counter(), 0.0
    for name in drawn:
        configuration, sample = catalog.sample(name)
        archive = arguments.root / "onnx-graphs" / f"{configuration.id}.tar.gz"
        kept = onnx.load_model_from_string(read_member(archive, f"{name}.onnx"))
        started = time.perf_counter()
        built = build(configuration, sample, "meta")
        traced = export_graph(built.module, built.inputs)
        seconds += time.perf_counter() - started
        outcome = "equal" if same_graph(kept, traced) else "OTHER"
        outcomes[outcome] += 1
        print(f"{outcome} {name}", flush=True)
    print(f"of {len(drawn)} derived graphs: {dict(outcomes)}; traced in {seconds / max(len(drawn), 1):.1f} s each")
    made = [row.seconds for row in finished_rows(arguments.work) if row.method == "derived"]
    if made:
        each = sum(sum(parts.values()) for parts in made) / len(made)
        print(f"derived in {each:.3f} s each (over {len(made)}): ratio {seconds / len(drawn) / each:.0f}")


if __name__ == "__main__":
    main()
