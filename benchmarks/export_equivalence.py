"""Does an exported graph compute what its module computes?

For the smallest sample of every configuration and mode of an exported layer, the module's own random weights are put into the graph by name, the graph
runs in ONNX Runtime, and every output is compared with that of the module run eagerly: the largest difference over the largest magnitude. Shapes alone
prove nothing: a graph that lost its masks has perfect shapes. What was compared is kept in the table, so that the same command goes on after a kill.

    python benchmarks/export_equivalence.py data --write docs/tables/export-equivalence.csv
"""

import argparse
import csv
import gc
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch

from machine import describe
from nnirp.catalog import Catalog, Sample, SourceConfiguration, build
from nnirp.graphs.export import TABLES_FILE, export_graph
from nnirp.graphs.weights import location, run_graph, with_weights
from nnirp.layers.archives import read_member
from nnirp.layers.manifests import ExportManifest

COLUMNS = ("configuration", "builder", "sample", "nodes", "outputs", "relative_error", "note")
TOLERANCE = 1e-4
LARGEST_BYTES = 1.8e9
"""A graph with its weights is one message of protobuf, which holds 2 GiB."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="a dataset root with onnx-graphs/ and manifests/")
    parser.add_argument("--write", type=Path, required=True, help="the table; rows that it holds are not made again")
    parser.add_argument("--ids", type=int, nargs="*", default=[], help="these configurations only")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    catalog = Catalog.from_json(arguments.root / "manifests" / "catalog.json")
    manifest = ExportManifest.model_validate_json((arguments.root / "manifests" / "export.json").read_bytes())
    rows = read_table(arguments.write)
    for configuration in catalog.configurations:
        if arguments.ids and configuration.id not in arguments.ids:
            continue
        for sample in smallest(configuration):
            exported = manifest.samples.get(sample.name)
            if sample.name in rows or exported is None or exported.status != "ok":
                continue
            started = time.perf_counter()
            rows[sample.name] = compare(arguments.root, configuration, sample)
            write_table(arguments.write, rows)
            print(*rows[sample.name].values(), f"{time.perf_counter() - started:.1f} s", flush=True)
    print(describe(("torch", "onnx", "onnxruntime", "transformers", "timm")))
    print(summary(rows))


def smallest(configuration: SourceConfiguration) -> Iterator[Sample]:
    """The smallest float32 sample of each mode."""
    for mode in sorted({s.mode for s in configuration.samples}):
        samples = [s for s in configuration.samples if s.mode == mode and s.precision == "fp32"]
        if samples:
            yield min(samples, key=lambda s: (s.batch * s.size, s.name))


def compare(root: Path, configuration: SourceConfiguration, sample: Sample) -> dict[str, str]:
    """One row of the table."""
    graph = onnx.load_model_from_string(
        read_member(root / "onnx-graphs" / f"{configuration.id}.tar.gz", f"{sample.name}.onnx")
    )
    row = dict.fromkeys(COLUMNS, "") | {
        "configuration": str(configuration.id),
        "builder": configuration.builder,
        "sample": sample.name,
        "nodes": str(len(graph.graph.node)),
        "outputs": str(len(graph.graph.output)),
    }
    weights = sum(p.numel() * p.element_size() for p in build(configuration, sample, "meta").module.parameters())
    if weights > LARGEST_BYTES:
        return row | {"note": f"not run: {weights / 1e9:.1f} GB of weights"}
    built = build(configuration, sample)
    try:
        tables = None
        if any(location(tensor) == TABLES_FILE for tensor in graph.graph.initializer):
            tables = export_graph(**vars(build(configuration, sample, "meta")))
        answers = run_graph(with_weights(graph, built.module, tables), built.inputs)
        with torch.inference_mode():
            outputs = built.module(**built.inputs)
        expected = [value.numpy() for value in ([outputs] if torch.is_tensor(outputs) else outputs)]
        if len(answers) != len(expected):
            return row | {"note": f"{len(answers)} outputs in the graph, {len(expected)} in the module"}
        return row | {"relative_error": f"{max(map(relative_error, answers, expected)):.1e}"}
    except Exception as error:  # whatever a runtime refuses is a row, not the end of the table
        return row | {"note": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    finally:
        del built
        gc.collect()


def relative_error(answer: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference over the largest magnitude; infinite where shapes differ or a value is not finite."""
    if answer.shape != expected.shape or not np.isfinite(answer).all() or not np.isfinite(expected).all():
        return float("inf")
    largest = float(np.abs(expected).max(initial=0.0))
    difference = float(np.abs(answer.astype(np.float64) - expected.astype(np.float64)).max(initial=0.0))
    return difference / largest if largest else difference


def read_table(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a table by sample; none where there is no table."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as stream:
        return {row["sample"]: row for row in csv.DictReader(stream)}


def write_table(path: Path, rows: dict[str, dict[str, str]]) -> None:
    """Write all rows, by configuration and sample, and rename the file into place."""
    partial = path.with_suffix(".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    with partial.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows.values(), key=lambda row: (int(row["configuration"]), row["sample"])))
    partial.replace(path)


def summary(rows: dict[str, dict[str, str]]) -> str:
    """How many agree, and which do not."""
    run = {name: float(row["relative_error"]) for name, row in rows.items() if row["relative_error"]}
    worse = {name: error for name, error in run.items() if not error <= TOLERANCE}
    builders = {row["builder"] for row in rows.values()}
    agreeing = {rows[name]["builder"] for name in run if name not in worse}
    lines = [
        f"{len(run) - len(worse)} of {len(run)} graphs within {TOLERANCE:g}; {len(rows) - len(run)} not run",
        f"{len(agreeing)} of {len(builders)} builders have a graph that agrees; without: {sorted(builders - agreeing)}",
    ]
    lines += [f"  {error:.1e} {name}" for name, error in sorted(worse.items())]
    lines += [f"  not run: {name}: {row['note']}" for name, row in sorted(rows.items()) if not row["relative_error"]]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
