"""Reading ONNX files that anybody made: never their external data, and never a file that reaches out of its folder."""

from collections.abc import Iterator, Sequence
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
        _refuse_outside_data(model, where)
        for nodes in _node_lists(model):
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


def _refuse_outside_data(model: onnx.ModelProto, where: str) -> None:
    for tensor in _tensors(model):
        for entry in tensor.external_data:
            if entry.key != "location":
                continue
            if not isinstance(entry.value, str):  # protobuf hands out bytes where the text is not UTF-8
                raise InputError(
                    f"{where} names external data by bytes that are no text ({entry.value!r}); export it again"
                )
            windows, posix = PureWindowsPath(entry.value), PurePosixPath(entry.value)
            rooted = posix.is_absolute() or windows.is_absolute() or windows.drive or windows.root
            if rooted or ".." in posix.parts or ".." in windows.parts:
                raise UnsafeFileError(
                    f"{where} names external data outside its folder ({entry.value!r}); save it with data beside the file"
                )


def _graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The main graph and every control-flow body, also those inside local functions."""
    pending = [model.graph]
    pending += [body for function in model.functions for node in function.node for body in _bodies(node)]
    while pending:
        graph = pending.pop()
        yield graph
        pending += [body for node in graph.node for body in _bodies(node)]


def _bodies(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _node_lists(model: onnx.ModelProto) -> Iterator[Sequence[onnx.NodeProto]]:
    yield from (graph.node for graph in _graphs(model))
    yield from (function.node for function in model.functions)


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    for graph in _graphs(model):
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield from (sparse.values, sparse.indices)
    for nodes in _node_lists(model):
        for node in nodes:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors


def _refuse_cycles(nodes: Sequence[onnx.NodeProto], where: str) -> None:
    """Kahn's algorithm; a graph in order, which nearly all are, is seen to be so in one pass."""
    made_by = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    needs = [{made_by[name] for name in node.input if name in made_by} for node in nodes]
    if all(not inputs or max(inputs) < number for number, inputs in enumerate(needs)):
        return
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
