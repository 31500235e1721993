"""Zstandard frames: compressed with a checksum, decompressed whole and never beyond a limit."""

import io

import zstandard

from nnirp.errors import InputError, UnsafeFileError

MAGIC = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_RLE, _RESERVED = 1, 3
_COMPLAINT = "is not a complete zstandard file; get it again with `dvc pull`"


def compress(data: bytes, level: int = 19) -> bytes:
    """One frame with its content size and checksum; the same bytes for the same data and library version."""
    return zstandard.ZstdCompressor(level=level, write_checksum=True, write_content_size=True).compress(data)


def decompress(data: bytes, max_bytes: int = 256 << 20) -> bytes:
    """The content of all frames of `data`.

    Args:
        data: one or more frames, skippable ones allowed.
        max_bytes: largest sum of decompressed bytes.

    Raises:
        UnsafeFileError: the content is larger than `max_bytes`.
        InputError: a frame is truncated or corrupt, or there is none.
    """
    check_frames(data)
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True)
        content = reader.read(max_bytes + 1)
    except (zstandard.ZstdError, MemoryError) as error:
        raise InputError(f"the content ({' '.join(str(error).split())}) {_COMPLAINT}") from None
    if len(content) > max_bytes:
        raise UnsafeFileError(
            f"the content decompresses to more than {max_bytes} bytes; get the file again from its source"
        )
    return content


def check_frames(data: bytes) -> None:
    """Walk over frames and blocks without decompressing: the library takes a truncated stream for a short one.

    The layout is that of RFC 8878, section 3.1.

    Raises:
        InputError: the data end inside a frame, or something else than a frame begins.
    """
    position, frames = 0, 0
    while position < len(data):
        magic = int.from_bytes(data[position : position + 4], "little")
        if magic in _SKIPPABLE:
            position += 8 + int.from_bytes(data[position + 4 : position + 8], "little")
        elif magic == MAGIC:
            position = _end_of_frame(data, position)
            frames += 1
        else:
            raise InputError(f"the content (no frame at byte {position}) {_COMPLAINT}")
    if position != len(data) or not frames:
        raise InputError(f"the content ({len(data)} bytes, at least {position or 1} expected) {_COMPLAINT}")


def _end_of_frame(data: bytes, position: int) -> int:
    try:
        head = data[position : position + 18]
        parameters = zstandard.get_frame_parameters(head)
        position += zstandard.frame_header_size(head)
    except zstandard.ZstdError as error:
        raise InputError(f"the content (frame header at byte {position}: {error}) {_COMPLAINT}") from None
    last = False
    while not last:
        header = int.from_bytes(data[position : position + 3], "little")
        kind, size = header >> 1 & 3, header >> 3
        if position + 3 > len(data) or kind == _RESERVED:
            raise InputError(f"the content (block at byte {position}) {_COMPLAINT}")
        position += 3 + (1 if kind == _RLE else size)
        last = bool(header & 1)
    return position + 4 * parameters.has_checksum
