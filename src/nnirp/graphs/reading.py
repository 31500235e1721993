"""Reading ONNX files that anybody made: never their external data, and never a file that reaches out of its folder."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx
from google.protobuf.message import DecodeError

from nnirp.errors import InputError, NotPulledError, UnsafeFileError

MAX_BYTES = 2**31 - 1
"""Protobuf's own limit; a larger model keeps its weights in external files."""


def read_onnx(source: str | Path | bytes, *, max_bytes: int = MAX_BYTES) -> onnx.ModelProto:
    """Read a model's graph; external weights are not loaded and need not exist.

    Args:
        source: a path, or the content of a file.
        max_bytes: refuse larger files before reading them.

    Raises:
        NotPulledError: the file is absent.
        UnsafeFileError: external data is named outside the file's folder.
        InputError: the content is no ONNX model, is too large, or its graph has a cycle.
    """
    where = "the content" if isinstance(source, bytes) else str(source)
    content = source if isinstance(source, bytes) else _content(Path(source), max_bytes)
    if len(content) > max_bytes:
        raise InputError(f"{where} has {len(content)} bytes, at most {max_bytes} are read; save it with external data")
    if not content:
        raise InputError(f"{where} is empty; expected an ONNX model, for example from torch.onnx.export")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        raise InputError(
            f"{where} is not an ONNX model (no protobuf); expected a file such as torch.onnx.export writes"
        ) from None
    if not model.HasField("graph") or not (model.graph.node or model.graph.output) or not model.opset_import:
        raise InputError(
            f"{where} is not an ONNX model (no graph, or no operator set); expected a file such as torch.onnx.export writes"
        )
    try:
        node_lists, tensors = _contents(model)
        _refuse_outside_data(tensors, where)
        for nodes in node_lists:
            _refuse_cycles(nodes, where)
    except UnicodeDecodeError:
        raise InputError(f"{where} is not an ONNX model (a name is no UTF-8); get the file again") from None
    return model


def _content(path: Path, max_bytes: int) -> bytes:
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected an ONNX file inside it")
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file; expected an ONNX file")
        size = path.stat().st_size
        if size > max_bytes:
            raise InputError(f"{path} has {size} bytes, at most {max_bytes} are read; save it with external data")
        return path.read_bytes()
    except FileNotFoundError:
        raise NotPulledError(f"{path} does not exist; name an ONNX file, or `dvc pull {path}`") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check its permissions") from None


def _contents(model: onnx.ModelProto) -> tuple[list[Sequence[onnx.NodeProto]], list[onnx.TensorProto]]:
    """The node lists of the main graph, of every control-flow body and of local functions; and every tensor with content."""
    graphs, node_lists, tensors = [model.graph], [function.node for function in model.functions], []
    done = 0
    while graphs or done < len(node_lists):
        if graphs:
            graph = graphs.pop()
            tensors += graph.initializer
            for sparse in graph.sparse_initializer:
                tensors += (sparse.values, sparse.indices)
            node_lists.append(graph.node)
        for node in node_lists[done]:
            for attribute in node.attribute:
                has = attribute.HasField  # whatever its type claims
                if has("t"):
                    tensors.append(attribute.t)
                if has("g"):
                    graphs.append(attribute.g)
                if attribute.graphs or attribute.tensors:
                    graphs += attribute.graphs
                    tensors += attribute.tensors
        done += 1
    return node_lists, tensors


def _refuse_outside_data(tensors: list[onnx.TensorProto], where: str) -> None:
    named = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    for location in named:
        if not isinstance(location, str):  # protobuf hands out bytes where the text is not UTF-8
            raise InputError(f"{where} names external data by bytes that are no text ({location!r}); export it again")
        windows, posix = PureWindowsPath(location), PurePosixPath(location)
        rooted = posix.is_absolute() or windows.is_absolute() or windows.drive or windows.root
        if rooted or ".." in posix.parts or ".." in windows.parts:
            raise UnsafeFileError(
                f"{where} names external data outside its folder ({location!r}); save it with data beside the file"
            )


def _refuse_cycles(nodes: Sequence[onnx.NodeProto], where: str) -> None:
    """Kahn's algorithm; a graph in order, which nearly all are, is seen to be so in one pass.

    A tensor that two nodes write is refused as well: which of them a reader means is not defined.
    """
    made: set[str] = set()
    early: set[str] = set()  # read before they are made, or made elsewhere
    written = 0
    for node in nodes:
        early.update([name for name in node.input if name not in made])
        made.update(node.output)
        written += len(node.output)
    if written > len(made):
        names = Counter(name for node in nodes for name in node.output if name)
        twice = next((name for name, count in names.items() if count > 1), None)
        if twice is not None:
            raise InputError(
                f"{where} writes the tensor {twice!r} twice; an ONNX graph writes each once, check the exporter"
            )
    made.discard("")
    if early.isdisjoint(made):
        return
    made_by = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    needs = [{made_by[name] for name in node.input if name in made_by} for node in nodes]
    users: dict[int, list[int]] = {}
    for number, inputs in enumerate(needs):
        for producer in inputs:
            users.setdefault(producer, []).append(number)
    left = [len(inputs) for inputs in needs]
    ready = [number for number, count in enumerate(left) if count == 0]
    done = 0
    while ready:
        done += 1
        for user in users.get(ready.pop(), ()):
            left[user] -= 1
            if left[user] == 0:
                ready.append(user)
    if done < len(needs):
        node = nodes[next(number for number, count in enumerate(left) if count)]
        raise InputError(
            f"{where} has a cycle through node {node.name or node.op_type!r}; an ONNX graph is acyclic, check the exporter"
        )
