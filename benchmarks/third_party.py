"""ONNX files that Python packages ship: shapes found, and FLOPs beside a profiled run of ONNX Runtime and beside onnx-tool.

Nothing is installed or downloaded: the packages of `third_party.json` are looked for in the folders given, each the root of a
site-packages or of an unpacked wheel. ONNX Runtime executes the file once on random inputs and writes down every node with the
shapes it met, those inside control flow too; the FLOPs of its products and convolutions follow from these shapes. onnx-tool
(`pip install onnx-tool==1.0.1 tabulate`, no dependency of the project) is asked where it is installed, and where it fails its
message stands in the table.

    python benchmarks/third_party.py ~/scratch/site-packages --write docs/tables/third-party.csv
"""

import argparse
import csv
import json
import sys
import tempfile
import warnings
from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from encode import read_by_onnx_tool
from flop_agreement import gate_flops
from machine import describe, markdown
from nnirp.features import encode
from nnirp.graphs.probing import fill_absent
from nnirp.graphs.reading import read_onnx
from nnirp.graphs.shapes import complete_shapes
from nnirp.graphs.static import unresolved

TOLERANCE = 0.02
LIST = Path(__file__).with_name("third_party.json")
HEADER = (
    "package",
    "file",
    "nodes",
    "open shapes",
    "MFLOPs",
    "products",
    "ONNX Runtime's products",
    "onnx-tool's products",
    "onnx-tool's total",
    "within 2 % of",
    "unknown",
    "why not the run's",
    "why not onnx-tool's",
)
RECURRENT = frozenset(["LSTM", "GRU", "RNN", "DynamicQuantizeLSTM"])
PRODUCTS = RECURRENT | frozenset(
    ["Conv", "ConvTranspose", "ConvInteger", "MatMul", "Gemm", "MatMulInteger", "QLinearConv", "QLinearMatMul"]
)


def products_of_a_run(model: onnx.ModelProto) -> float:
    """FLOPs of the products and convolutions that ONNX Runtime executed, from the shapes in its own profile.

    The graph is run as it is written, without optimisation, so that operators keep their names; weights that a package does not
    ship are zeros.
    """
    model = fill_absent(model) or model
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_profiling, options.log_severity_level, options.intra_op_num_threads = True, 4, 1
    options.add_session_config_entry("session.disable_prepacking", "1")  # a packed weight is no longer among the inputs
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = str(Path(folder) / "profile")
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        session.run(None, {value.name: random_input(value) for value in session.get_inputs()})
        events = json.loads(Path(session.end_profiling()).read_text())
    total = 0.0
    for event in events:
        arguments = event.get("args", {})
        if event.get("name", "").endswith("_kernel_time") and arguments.get("op_name") in PRODUCTS:
            shapes = [next(tuple(s) for s in entry.values()) for entry in arguments["input_type_shape"]]
            outputs = [next(tuple(s) for s in entry.values()) for entry in arguments["output_type_shape"]]
            total += product_flops(arguments["op_name"], shapes, outputs)
    return total


def product_flops(op: str, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]]) -> float:
    """Two FLOPs a multiply-accumulate: from the sizes of both operands and the result, without any attribute.

    A contraction over K of sizes |A| and |B| into |Y| with batch b has |A|·|B|/|Y| = b·K², so no operand has to be called transposed.
    """
    if op in RECURRENT:
        steps, batch = inputs[0][:2]
        return 2.0 * steps * batch * (prod(inputs[1]) + prod(inputs[2]))
    left, right, out = inputs[0], inputs[3 if op.startswith("QLinear") else 1], outputs[0]
    if op in ("Conv", "ConvInteger", "QLinearConv"):
        return 2.0 * prod(out) * prod(right[1:])
    if op == "ConvTranspose":
        return 2.0 * prod(left) * prod(right[1:])
    if op == "Gemm":
        return 2.0 * (prod(left) * prod(right) * prod(out)) ** 0.5
    return 2.0 * prod(out) * left[-1]


def random_input(value) -> np.ndarray:
    kind = value.type.removeprefix("tensor(").removesuffix(")")
    shape = [int(size) for size in value.shape]
    generator = np.random.default_rng(0)
    if kind in ("float", "double", "float16"):
        return generator.standard_normal(shape).astype({"float": "float32", "double": "float64"}.get(kind, kind))
    return generator.integers(0, 2, shape).astype(kind)


def figures_of_onnx_tool(model: onnx.ModelProto) -> tuple[float, float] | str:
    """FLOPs of the products and of everything, twice onnx-tool's MACs; or why it has none.

    It counts the addition of a bias as one MAC an element of the result, which the products leave out.
    """
    try:
        graph = read_by_onnx_tool(fill_absent(model) or model)
    except ImportError:
        return "not installed"
    except Exception as error:
        return f"fails: {' '.join(str(error).split('-')[0].split())}"
    products = 0.0
    for node in graph.nodemap.values():
        if node.op_type in PRODUCTS:
            products += 2 * node.macs[0]
            with_bias = node.op_type in ("Conv", "ConvTranspose", "Gemm") and len(node.input) == 3
            products -= 2 * with_bias * prod(node.outshape)
    return products, 2 * graph.macs[0]


def compare(package: str, path: Path, batch: int, dims: Mapping[str, int]) -> tuple[object, ...]:
    """One row of the table, but for the reasons."""
    model = read_onnx(path)
    completed = complete_shapes(model, batch, dims)
    encoded = encode(completed, form="executed")
    products = sum(f for f, op in zip(encoded.flops, encoded.op_names, strict=True) if op in PRODUCTS)
    products -= gate_flops(completed.graph)
    run = products_of_a_run(completed)
    tool = figures_of_onnx_tool(completed)
    beside = {"ONNX Runtime": (products, run)}
    if not isinstance(tool, str):
        beside |= {"onnx-tool's products": (products, tool[0]), "onnx-tool's total": (encoded.total_flops, tool[1])}
    agrees = [name for name, (mine, other) in beside.items() if abs(mine / other - 1) <= TOLERANCE]
    shown = [mega(encoded.total_flops), mega(products), mega(run)]
    shown += [tool, ""] if isinstance(tool, str) else map(mega, tool)
    unknown = " ".join(f"{op}×{count}" for op, count in sorted(encoded.unknown.items()))
    return package, path.name, len(encoded.op), len(unresolved(completed)), *shown, ", ".join(agrees), unknown


def mega(flops: float) -> str:
    return f"{flops / 1e6:.3f}"


def find(roots: list[Path], file: str) -> Path | None:
    return next((found for root in roots for found in [root / file, *root.glob(f"*/{file}")] if found.is_file()), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", type=Path, nargs="+", help="folders that hold the packages")
    parser.add_argument("--write", type=Path, help="CSV to write")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for entry in json.loads(LIST.read_text(encoding="utf-8")):
        path = find(arguments.roots, entry["file"])
        if path is None:
            print(f"not found: {entry['file']} of {entry['package']}", file=sys.stderr)
            continue
        figures = compare(entry["package"], path, entry.get("batch", 1), entry.get("dims", {}))
        rows.append((*figures, entry.get("why", ""), entry.get("why_not_tool", "")))
    if arguments.write:
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
        with arguments.write.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    print(describe(("onnx", "onnxruntime", "onnx-tool")))
    print(markdown(HEADER, rows))
    beyond = [row for row in rows if row[3] or "ONNX Runtime" not in row[HEADER.index("within 2 % of")]]
    print(
        f"{len(rows) - len(beyond)} of {len(rows)} files: every shape found and products within {TOLERANCE:.0%} of the run"
    )
    return 1 if any(not row[-2] for row in beyond) else 0


if __name__ == "__main__":
    sys.exit(main())
