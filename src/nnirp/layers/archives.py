"""Flat `.tar.gz` archives: written with the same bytes every time, read as a stream and never extracted to disk.

The reader understands just enough of tar to be safe: regular members with flat names, and the two extensions (GNU long
names, POSIX extended headers) that carry a name longer than 100 characters. Everything else is refused.
"""

import gzip
import io
import tarfile
import uuid
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from nnirp.errors import InputError, NotPulledError, UnsafeFileError

BLOCK = 512
MAX_HEADER_BYTES = 64 << 10
MAX_TRAILER_BYTES = 1 << 20
MAX_NAME = 255  # the longest file name of the usual file systems
_REGULAR = (tarfile.REGTYPE, tarfile.AREGTYPE)
_EXTENDED = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME)


def write_archive(path: Path, members: Iterable[tuple[str, bytes]]) -> None:
    """Write members sorted by name, without times or owners, and rename the finished file onto `path`.

    Raises:
        InputError: a name is not flat, or occurs twice.
    """
    path = Path(path)
    contents: dict[str, bytes] = {}
    for name, data in members:
        if not is_flat(name) or name in contents:
            why = "occurs twice" if name in contents else "is not a plain file name"
            raise InputError(f"{path}: member {name!r} {why}; archives of a layer are flat, one file a sample")
        contents[name] = data
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with (
            draft.open("wb") as raw,
            gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for name in sorted(contents):
                info = tarfile.TarInfo(name)  # time, owner and group are 0, mode 0644
                info.size = len(contents[name])
                archive.addfile(info, io.BytesIO(contents[name]))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def iter_archive(
    path: Path, *, max_member_bytes: int = 256 << 20, max_total_bytes: int = 4 << 30
) -> Iterator[tuple[str, bytes]]:
    """Stream the members of an archive in the order of the file.

    Args:
        path: a `.tar.gz` file.
        max_member_bytes: largest member that is accepted.
        max_total_bytes: largest sum of decompressed bytes that is read.

    Raises:
        NotPulledError: the file is absent.
        UnsafeFileError: a link, device, folder, path or duplicate name, or a size above a limit.
        InputError: the file is truncated, corrupt, or no tar archive.
    """
    path = Path(path)
    try:
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) as stream:
            yield from _members(stream, path, max_member_bytes, max_total_bytes)
    except FileNotFoundError:
        raise NotPulledError(f"{path} is missing; run `dvc pull {path}`") from None
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError, UnicodeError, OSError) as error:
        raise InputError(
            f"{path} is truncated or not a gzipped tar archive ({_line(error)}); run `dvc pull {path}`"
        ) from None


def read_member(path: Path, name: str) -> bytes:
    """The content of one member.

    Raises:
        InputError: the archive has no such member, or what `iter_archive` raises.
    """
    for found, data in iter_archive(path):
        if found == name:
            return data
    raise InputError(f"{path} holds no member {name!r}; list what it holds with `tar tzf {path}`")


def is_flat(name: str) -> bool:
    """Whether a name is a plain file name: no folder, no drive, no control character, nothing special."""
    return (
        0 < len(name.encode("utf-8", "surrogatepass")) <= MAX_NAME
        and name not in {".", ".."}
        and not any(sign in name for sign in "/\\:")
        and name.isprintable()
    )


def _members(stream: IO[bytes], path: Path, max_member: int, max_total: int) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    total, long_name = 0, None
    while True:
        header = _exactly(stream, BLOCK)
        if not header.strip(b"\0"):
            break
        info = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
        if info.type in _EXTENDED:
            body = _body(stream, info.size, MAX_HEADER_BYTES, path, "an extended header")
            long_name = long_name if info.type == tarfile.XGLTYPE else _long_name(info.type, body, path)
        elif info.type == tarfile.DIRTYPE and info.name.rstrip("/") == ".":  # `tar -C folder .` begins with it
            _body(stream, info.size, 0, path, "a folder")
        else:
            name = (long_name or info.name).removeprefix("./")
            long_name = None
            if info.type not in _REGULAR or not is_flat(name):
                raise UnsafeFileError(
                    f"{path}: member {name[:80]!r} is not a regular file with a flat name; nothing was extracted, get the file again"
                )
            if name in seen:
                raise UnsafeFileError(
                    f"{path}: member {name!r} occurs twice; get the file again with `dvc pull {path}`"
                )
            seen.add(name)
            data = _body(stream, info.size, min(max_member, max_total - total), path, repr(name))
            total += info.size
            yield name, data
    _drain(stream, path)


def _body(stream: IO[bytes], size: int, limit: int, path: Path, what: str) -> bytes:
    if not 0 <= size <= limit:
        raise UnsafeFileError(
            f"{path}: {what} declares {size} bytes, at most {limit} are accepted here; get the file again"
        )
    data = _exactly(stream, size)
    _exactly(stream, -size % BLOCK)
    return data


def _long_name(kind: bytes, body: bytes, path: Path) -> str | None:
    """The name that an extension header gives to the next member; an extension that changes its size is refused."""
    if kind == tarfile.GNUTYPE_LONGNAME:
        return body.rstrip(b"\0").decode("utf-8")
    name, position = None, 0
    while position < len(body):
        length, _, _ = body[position : position + 20].partition(b" ")
        if not length.isdigit() or int(length) < len(length) + 3 or position + int(length) > len(body):
            raise UnsafeFileError(f"{path}: malformed extended header; get the file again with `dvc pull {path}`")
        key, _, value = body[position + len(length) + 1 : position + int(length) - 1].partition(b"=")
        if key == b"path":
            name = value.decode("utf-8")
        elif key == b"size" or key.startswith(b"GNU.sparse"):
            raise UnsafeFileError(
                f"{path}: an extended header sets {key.decode()}; only names are accepted, repack the archive"
            )
        position += int(length)
    return name


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("the file ends inside a member")
    return data


def _drain(stream: IO[bytes], path: Path) -> None:
    """Read the padding to its end, so that the checksum of the gzip stream is compared."""
    read = 0
    while chunk := stream.read(BLOCK << 6):
        read += len(chunk)
        if read > MAX_TRAILER_BYTES or chunk.strip(b"\0"):
            raise UnsafeFileError(
                f"{path}: data after the end of the archive; get the file again with `dvc pull {path}`"
            )


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
