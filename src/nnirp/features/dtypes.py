"""Storage of a tensor by its ONNX element type, sub-byte types packed."""

import onnx

_T = onnx.TensorProto.DataType
# ONNX IR specification, TensorProto.DataType: 4-bit types pack two, 2-bit types four elements a byte. A string is
# counted as one 8-byte reference: its characters are not known from the graph.
_BITS_BY_NAME = {
    "FLOAT": 32, "DOUBLE": 64, "FLOAT16": 16, "BFLOAT16": 16, "COMPLEX64": 64, "COMPLEX128": 128,
    "INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64, "UINT8": 8, "UINT16": 16, "UINT32": 32, "UINT64": 64,
    "BOOL": 8, "STRING": 64, "FLOAT8E4M3FN": 8, "FLOAT8E4M3FNUZ": 8, "FLOAT8E5M2": 8, "FLOAT8E5M2FNUZ": 8,
    "FLOAT8E8M0": 8, "INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2,
}  # fmt: skip
BITS = {_T.Value(name): bits for name, bits in _BITS_BY_NAME.items() if name in _T.keys()}  # noqa: SIM118

# Order of the one-hot in `edge_attr`; anything else is the eighth column.
EDGE_DTYPES = (_T.Value("FLOAT"), _T.Value("FLOAT16"), _T.Value("BFLOAT16"), _T.Value("DOUBLE"), _T.Value("INT64"),
               _T.Value("INT32"), _T.Value("BOOL"))  # fmt: skip


def elements(shape: tuple[int, ...]) -> int:
    """Number of elements of a shape (1 for a scalar)."""
    count = 1
    for size in shape:
        count *= size
    return count


def tensor_bytes(dtype: int, shape: tuple[int, ...]) -> int:
    """Bytes of a tensor; an element type that ONNX does not define (0: not known) counts as 4 bytes an element."""
    return (elements(shape) * BITS.get(dtype, 32) + 7) // 8
