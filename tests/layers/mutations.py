"""Damage to real files: of their bytes, of the members of a zip file, of an ONNX model's messages."""

import io
import random
import zipfile

import onnx
from onnx import helper

INTERESTING = (
    b"\0",
    b"\xff",
    b"../",
    b"/",
    b"\xff\xff\xff\x7f",
    b"\x80" + bytes(11),
    b"c__builtin__\neval\n",
    b"1e999",
    b"NaN",
    b"{",
    b"[",
)
SIZES = (0, 1, -1, 2, 3, 7, 100_000, 2**31, 2**40, 2**62, -(2**63))
VERSIONS = (-1, 0, 1, 5, 9, 11, 13, 17, 18, 23, 26, 999)
OPERATORS = [
    "Attention",
    "BatchNormalization",
    "Cast",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "DequantizeLinear",
    "Einsum",
    "Equal",
    "Expand",
    "Frobnicate",
    "Gather",
    "Gemm",
    "Identity",
    "If",
    "LSTM",
    "Loop",
    "MatMul",
    "NonMaxSuppression",
    "NonZero",
    "Pad",
    "QLinearConv",
    "Range",
    "Relu",
    "Reshape",
    "Resize",
    "Scan",
    "SequenceConstruct",
    "Shape",
    "Size",
    "Slice",
    "Softmax",
    "Split",
    "Squeeze",
    "Tile",
    "TopK",
    "Transpose",
    "Where",
]


def mutate(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """One to four edits: flips, inserts, deletions, copies, splices of another file, truncation."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(out) + 1), rng.choice((1, 1, 2, 4, 16, 512))
        kind = rng.randrange(8)
        if kind <= 1 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 2 and out:
            out[at % len(out)] = rng.randrange(256)
        elif kind == 3:
            out[at:at] = rng.choice(INTERESTING)
        elif kind == 4:
            del out[at : at + length]
        elif kind == 5:
            source = rng.randrange(len(out) + 1)
            out[at : at + length] = out[source : source + length]
        elif kind == 6 and other:
            source = rng.randrange(len(other))
            out[at : at + length] = other[source : source + rng.choice((16, 512, 4096))]
        elif rng.random() < 0.3:
            del out[at:]
    return bytes(out)


def rezipped(content: bytes, rng: random.Random) -> bytes:
    """A torch file with one member changed and its checksums right, so that the change is reached."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    chosen = rng.choice([n for n in members if n.endswith("data.pkl")] * 4 + list(members))
    members[chosen] = mutate(members[chosen], rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, value in members.items():
            archive.writestr(name, value)
    return buffer.getvalue()


def edited(content: bytes, rng: random.Random) -> bytes:
    """An ONNX model that is still a protobuf, with one to three of its messages changed."""
    model = onnx.ModelProto.FromString(content)
    for _ in range(rng.randint(1, 3)):
        if model.graph.node:
            rng.choice(EDITS)(model, rng.choice(model.graph.node), rng)
    return model.SerializeToString()


def _names(graph: onnx.GraphProto) -> list[str]:
    found = [v.name for v in graph.input] + [t.name for t in graph.initializer]
    return [*found, *(name for node in graph.node for name in node.output), "", "fresh"]


def _operands(model: onnx.ModelProto, node: onnx.NodeProto, rng: random.Random) -> None:
    names = rng.choice((node.input, node.output))
    if names and rng.random() < 0.7:
        names[rng.randrange(len(names))] = rng.choice(_names(model.graph))
    elif names and rng.random() < 0.5:
        del names[rng.randrange(len(names))]
    else:
        names.append(rng.choice(_names(model.graph)))


def _operator(model: onnx.ModelProto, node: onnx.NodeProto, rng: random.Random) -> None:
    if rng.random() < 0.7:
        node.op_type = rng.choice(OPERATORS)
    else:
        node.domain = rng.choice(("com.microsoft", "ai.onnx.ml", "ai.onnx", "x"))


def _attribute(model: onnx.ModelProto, node: onnx.NodeProto, rng: random.Random) -> None:
    if not node.attribute:
        return
    at = rng.randrange(len(node.attribute))
    attribute, kind = node.attribute[at], rng.random()
    if kind < 0.3:
        del node.attribute[at]
    elif kind < 0.5:
        attribute.type = rng.randrange(15)
    elif attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(SIZES)
    else:
        attribute.i = rng.choice(SIZES)


def _shape(model: onnx.ModelProto, node: onnx.NodeProto, rng: random.Random) -> None:
    graph = model.graph
    value = rng.choice([*graph.input, *graph.value_info, *graph.output] or [onnx.ValueInfoProto()])
    dims = value.type.tensor_type.shape.dim
    if not dims or rng.random() < 0.1:
        value.type.Clear()
    elif rng.random() < 0.3:
        rng.choice(dims).dim_param = "N"
    else:
        rng.choice(dims).dim_value = rng.choice(SIZES)


def _weight(model: onnx.ModelProto, node: onnx.NodeProto, rng: random.Random) -> None:
    weights = model.graph.initializer
    if not weights:
        return
    at = rng.randrange(len(weights))
    kind = rng.randrange(4)
    if kind == 0:
        del weights[at]
    elif kind == 1:
        weights[at].data_type = rng.randrange(30)
    elif kind == 2 and weights[at].dims:
        weights[at].dims[rng.randrange(len(weights[at].dims))] = rng.choice(SIZES)
    else:
        weights[at].dims.append(rng.choice(SIZES))


def _nodes(model: onnx.ModelProto, node: onnx.NodeProto, rng: random.Random) -> None:
    nodes = model.graph.node
    if rng.random() < 0.5:
        nodes.remove(node)
    else:
        nodes.add().CopyFrom(node)


def _header(model: onnx.ModelProto, node: onnx.NodeProto, rng: random.Random) -> None:
    kind = rng.random()
    if kind < 0.4 and model.opset_import:
        rng.choice(model.opset_import).version = rng.choice(VERSIONS)
    elif kind < 0.8:
        del model.graph.value_info[:]
    else:
        model.graph.output.add(name=rng.choice(_names(model.graph)))


def _body(model: onnx.ModelProto, node: onnx.NodeProto, rng: random.Random) -> None:
    """A control-flow operator whose bodies are the graph's own beginning."""
    body = onnx.GraphProto()
    body.CopyFrom(model.graph)
    del body.node[30:]
    made = model.graph.node.add(op_type=rng.choice(("If", "Loop", "Scan")), output=[f"z{rng.randrange(99)}"])
    made.input.extend(rng.choices(_names(model.graph), k=rng.randint(0, 3)))
    for name in ("then_branch", "else_branch") if made.op_type == "If" else ("body",):
        if rng.random() < 0.9:
            made.attribute.append(helper.make_attribute(name, body))
    if made.op_type == "Scan":
        made.attribute.append(helper.make_attribute("num_scan_inputs", rng.choice((0, 1, 2, 99))))


def _function(model: onnx.ModelProto, node: onnx.NodeProto, rng: random.Random) -> None:
    name, domain = rng.choice(("f", node.op_type)), rng.choice(("", "local"))
    function = model.functions.add(name=name, domain=domain, input=["a"], output=["b"])
    function.opset_import.add(domain="", version=18)
    function.node.add().CopyFrom(node)
    if rng.random() < 0.5:
        node.op_type, node.domain = name, domain


EDITS = (_operands, _operands, _operator, _attribute, _shape, _shape, _weight, _nodes, _header, _body, _function)
