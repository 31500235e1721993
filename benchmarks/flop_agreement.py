"""FLOPs of the encoder beside `torch.utils.flop_counter`, over every source configuration of the catalog.

The counter knows convolutions, matrix products and attention (here decomposed into products by the "math" backend), so the
same operators are compared: element-wise operators, normalisations and the gates of recurrent layers are left out of ours. What
PyTorch computes from weights alone at every call is a constant of the encoder; it is counted apart and added for the comparison.

    python benchmarks/flop_agreement.py --selection full --write docs/tables/flop-agreement.csv
"""

import argparse
import csv
import sys
from pathlib import Path

import onnx
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from catalog_samples import cached_graph, smallest
from machine import describe, markdown
from nnirp.catalog import Sample, SourceConfiguration, build
from nnirp.errors import InputError
from nnirp.features import encode
from nnirp.features.control_flow import make_call
from nnirp.features.cost import call_cost
from nnirp.features.costs.recurrent import GATES
from nnirp.features.graph import ABSENT, parse
from nnirp.graphs.reading import read_onnx
from nnirp.layers.archives import read_member

COUNTED = frozenset(["Conv", "ConvTranspose", "DeformConv", "MatMul", "Gemm", "Einsum", "LSTM", "GRU", "RNN"])
TOLERANCE = 0.01
# What the two count differently, by configuration name; a disagreement that is not here fails the benchmark.
_UNREAD_LAYER = "PyTorch computes the backbone's last layer, which no feature map reads; the graph does not have it"
EXPLAINED = {"AnnaZhang/lwdetr_small_60e_coco": _UNREAD_LAYER, "Roboflow/rf-detr-base": _UNREAD_LAYER}


def counted_by_torch(configuration: SourceConfiguration, sample: Sample) -> tuple[int, str]:
    """FLOPs of one forward pass and the device it ran on: "meta" computes nothing; models that look at a value need a processor."""
    for device in ("meta", "cpu"):
        built = build(configuration, sample, device)
        fused_off = torch.backends.mkldnn.flags(enabled=False)  # its recurrent kernel is not in the counter's table
        try:
            with torch.no_grad(), fused_off, sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
                built.module(**built.inputs)
        except (RuntimeError, NotImplementedError):
            if device == "cpu":
                raise
            continue
        return counter.get_total_flops(), device
    raise AssertionError


def counted_by_us(model: onnx.ModelProto, batch: int) -> float:
    """FLOPs of the products and convolutions of a graph."""
    encoded = encode(model, batch=batch)
    products = sum(f for f, op in zip(encoded.flops, encoded.op_names, strict=True) if op in COUNTED)
    return float(products) - gate_flops(model.graph)


def weight_only_flops(model: onnx.ModelProto) -> float:
    """FLOPs of the products whose operands depend on weights alone: constants of the encoder, computed by PyTorch at every call."""
    graph = parse(model)
    constant, total = graph.is_constant, 0.0
    for node in graph.nodes:
        if all(tensor == ABSENT or constant[tensor] for tensor in node.inputs):
            for tensor in node.outputs:
                if tensor != ABSENT:
                    constant[tensor] = True
            if node.op in COUNTED:
                total += call_cost(make_call(graph, node)).flops
    return total


def gate_flops(graph: onnx.GraphProto) -> float:
    """The element-wise part of the recurrent layers' formula, which the counter does not have."""
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in [*graph.value_info, *graph.input]}
    total = 0.0
    for node in graph.node:
        if node.op_type in GATES:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            directions = 2 if attributes.get("direction") == b"bidirectional" else 1
            steps, batch, _ = shapes[node.input[0]]
            total += GATES[node.op_type][1] * steps * batch * directions * attributes["hidden_size"]
    return total


def graph_of(configuration: SourceConfiguration, sample: Sample, graphs: Path, cache: Path) -> onnx.ModelProto:
    """The published graph where there is one, else an export."""
    archive = graphs / f"{configuration.id}.tar.gz"
    if archive.is_file():
        try:
            return read_onnx(read_member(archive, f"{sample.name}.onnx"))
        except InputError:
            pass
    return read_onnx(cached_graph(configuration, sample, cache))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--selection", default="full")
    parser.add_argument("--ids", type=int, nargs="*", default=[])
    parser.add_argument("--graphs", type=Path, default=Path("data/onnx-graphs"))
    parser.add_argument("--cache", type=Path, default=Path(".work/benchmark-graphs"))
    parser.add_argument("--write", type=Path, help="CSV to write")
    arguments = parser.parse_args()
    rows, failed = [], []
    for configuration, sample in smallest(arguments.selection, arguments.ids):
        try:
            graph = graph_of(configuration, sample, arguments.graphs, arguments.cache)
            ours, constant = counted_by_us(graph, sample.batch), weight_only_flops(graph)
            theirs, device = counted_by_torch(configuration, sample)
        except Exception as error:
            failed.append(f"{configuration.name}: {' '.join(str(error).split())[:160]}")
            continue
        ratio = (ours + constant) / theirs if theirs else float("inf")
        agree = abs(ratio - 1) <= TOLERANCE
        why = "" if agree else EXPLAINED.get(configuration.name, "not explained")
        rows.append((configuration.id, configuration.name, configuration.sub_family, sample.name, int(ours), int(constant), theirs, f"{ratio:.5f}", device, why))  # fmt: skip
        print(f"{configuration.id} {sample.name}: {ratio:.5f} {why}", file=sys.stderr, flush=True)
    header = (
        "id",
        "configuration",
        "sub_family",
        "sample",
        "flops",
        "weight_only_flops",
        "torch_flops",
        "ratio",
        "torch_device",
        "why",
    )
    if arguments.write:
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
        with arguments.write.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)
    agreeing = sum(not row[-1] for row in rows)
    exact = sum(row[4] + row[5] == row[6] for row in rows)
    print(describe(("torch", "onnx", "transformers", "timm")))
    print(
        f"{len(rows)} configurations: {exact} equal, {agreeing} within {TOLERANCE:.0%}, {len(rows) - agreeing} beyond"
    )
    print(markdown(header, [row for row in rows if row[-1]]))
    for line in failed:
        print(f"failed: {line}")
    return 1 if failed or any(row[-1] == "not explained" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
