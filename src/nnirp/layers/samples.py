"""One `.pt.zst` sample: a PyTorch Geometric graph that is read without running anything the file asks for."""

import io
import pickletools
import zipfile
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from nnirp.errors import InputError, NotPulledError, UnsafeFileError
from nnirp.layers import frames

MAX_SAMPLE_BYTES = 256 << 20
_ALLOWED_CLASSES = (Data, DataEdgeAttr, DataTensorAttr, GlobalStorage)
_STORAGES = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
ALLOWED = frozenset(
    {f"{c.__module__}.{c.__qualname__}" for c in _ALLOWED_CLASSES}
    | {f"torch.{name}Storage" for name in _STORAGES}
    | {"torch._utils._rebuild_tensor_v2", "collections.OrderedDict", "torch.Size"}
)
# field: (kind, shape) of the contract; N nodes, E edges, T targets
_FIELDS: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "x": ("float", ("N", 14)),
    "op_type_id": ("int", ("N",)),
    "edge_index": ("int", (2, "E")),
    "edge_attr": ("float", ("E", 18)),
    "u": ("float", (1, 5)),
    "y": ("float", (1, "T")),
}
_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_INTS = (torch.int64, torch.int32, torch.int16, torch.uint8, torch.int8)
OPERATOR_LIMIT = 1 << 15  # the store keeps operator numbers in 16 bits


def dump_sample(data: Data, level: int = 19) -> bytes:
    """A `.pt.zst` file: the contract's fields in its order and types; the same graph gives the same bytes.

    Raises:
        InputError: a field is missing or has another shape than the contract's.
    """
    clean = check_sample(data, "the graph to write")
    fresh = Data(
        **{name: clean[name].clone(memory_format=torch.contiguous_format) for name in _FIELDS if name in clean}
    )
    buffer = io.BytesIO()
    torch.save(fresh, buffer)
    return frames.compress(buffer.getvalue(), level)


def load_sample(source: Path | str | bytes, *, where: str | None = None, max_bytes: int = MAX_SAMPLE_BYTES) -> Data:
    """Read a `.pt.zst` sample of either card version.

    Args:
        source: a path, or the bytes of the file.
        where: how messages name the sample; the path by default.
        max_bytes: largest decompressed size.

    Returns:
        A graph with `x` float32 [N, 14], `op_type_id` int64 [N], `edge_index` int64 [2, E], `edge_attr` float32
        [E, 18], `u` float32 [1, 5] and `y` float32 [1, T]; other fields of the file are left out.

    Raises:
        NotPulledError: the file is absent.
        UnsafeFileError: it asks for a class outside the allow-list, or decompresses beyond the limit.
        InputError: it is truncated, corrupt, or does not fit the contract.
    """
    where = where or ("the sample" if isinstance(source, bytes) else str(source))
    if not isinstance(source, bytes):
        try:
            source = Path(source).read_bytes()
        except FileNotFoundError:
            raise NotPulledError(f"{where} is missing; run `dvc pull {where}`") from None
        except OSError as error:
            raise InputError(f"{where} cannot be read ({error.strerror})") from None
    try:
        content = frames.decompress(source, max_bytes)
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None
    _check_pickle(content, where)
    try:
        with torch.serialization.safe_globals(list(_ALLOWED_CLASSES)):
            loaded = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # the reader of a hostile file fails in many ways; all of them mean the same
        raise InputError(f"{where} is not a readable sample ({_line(error)}); get it again with `dvc pull`") from None
    return check_sample(loaded, where)


def check_sample(data: object, where: str) -> Data:
    """A new graph with the contract's fields only, in the contract's types, checked for shapes, ranges and finite values.

    Raises:
        InputError: names the field, what was found and what was expected.
    """
    try:
        values = {name: data[name] for name in _FIELDS if name in data} if isinstance(data, Data) else None
    except Exception as error:
        raise InputError(f"{where} is not a readable graph ({_line(error)}); get it again with `dvc pull`") from None
    if values is None:
        raise InputError(f"{where} holds {type(data).__name__}, expected a torch_geometric Data; encode it again")
    sizes: dict[str, int] = {}
    for name, (kind, shape) in _FIELDS.items():
        value = values.get(name)
        if value is None and name == "y":
            continue  # a graph to predict has no label
        if not isinstance(value, Tensor) or value.layout != torch.strided or value.device.type != "cpu":
            raise InputError(f"{where}: `{name}` is {type(value).__name__}, expected a tensor; encode it again")
        if value.dtype not in (_FLOATS if kind == "float" else _INTS):
            raise InputError(f"{where}: `{name}` has type {value.dtype}, expected {kind}; encode it again")
        fits = value.dim() == len(shape) and all(
            found == (sizes.setdefault(size, found) if isinstance(size, str) else size)
            for found, size in zip(value.shape, shape, strict=True)
        )
        if not fits or (name == "y" and not sizes["T"]) or sizes.get("N") == 0:
            expected = ", ".join(f"{size}={sizes[size]}" if size in sizes else str(size) for size in shape)
            raise InputError(f"{where}: `{name}` has shape {list(value.shape)}, expected [{expected}]; encode it again")
    fresh = Data(
        **{
            name: value.to(torch.float32 if _FIELDS[name][0] == "float" else torch.int64)
            for name, value in values.items()
            if value is not None
        }
    )
    _check_values(fresh, where)
    return fresh


def _check_values(data: Data, where: str) -> None:
    ranges = (("edge_index", data.x.shape[0]), ("op_type_id", OPERATOR_LIMIT))
    for name, limit in ranges:
        value = data[name]
        if value.numel() and not (int(value.min()) >= 0 and int(value.max()) < limit):
            raise InputError(
                f"{where}: `{name}` has values {int(value.min())}..{int(value.max())}, expected 0..{limit - 1}; encode it again"
            )
    for name in ("x", "edge_attr", "u"):
        if not torch.isfinite(data[name]).all():
            raise InputError(f"{where}: `{name}` has values that are not finite; encode it again")
    if data.y is not None and torch.isinf(data.y).any():
        raise InputError(f"{where}: `y` is infinite; a target is log2 of a positive number, or NaN where missing")


def _check_pickle(content: bytes, where: str) -> None:
    """Refuse every class outside the allow-list by name, before torch looks at the file.

    torch's own list is process-wide and grows with every library that is imported; this one does not.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [i for i in archive.infolist() if i.filename.endswith("/data.pkl")]
            if len(names) != 1 or names[0].file_size > len(content):
                raise InputError(f"{where} is not a file of torch.save; get it again with `dvc pull`")
            pickle = archive.read(names[0])
        for wanted in _globals(pickle):
            if wanted not in ALLOWED:
                raise UnsafeFileError(
                    f"{where} asks for the class {wanted[:80]!r}, which reading a graph does not need; it was not opened, get it from its source again"
                )
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{where} is not a file of torch.save ({_line(error)}); get it again with `dvc pull`"
        ) from None


def _globals(pickle: bytes) -> list[str]:
    found = []
    for operation, argument, _ in pickletools.genops(pickle):
        if operation.name == "GLOBAL":
            found.append(str(argument).replace(" ", "."))
        elif operation.name in {"STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4", "OBJ", "NEWOBJ_EX", "PERSID"}:
            found.append(f"pickle operation {operation.name}")
    return found


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
