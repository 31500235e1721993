"""Disk traffic of a process and the space it takes, from the kernel's own counters."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from nnirp.profiling.monitors import MIB, Unavailable

IO = Path("/proc/self/io")


@dataclass(frozen=True)
class Traffic:
    """Bytes that went to or came from storage; what the page cache answered is not among them."""

    read: int
    written: int

    def __sub__(self, other: "Traffic") -> "Traffic":
        return Traffic(self.read - other.read, self.written - other.written)

    def megabytes(self) -> tuple[float, float]:
        return self.read / MIB, self.written / MIB


def traffic(path: Path = IO) -> Traffic:
    """Counters of this process so far; `cancelled_write_bytes` (deleted before they were written) are taken off.

    Raises:
        Unavailable: the kernel does not account I/O or forbids reading it.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from None
    entries = {key: int(value) for key, _, value in (line.partition(":") for line in lines)}
    if "read_bytes" not in entries:
        raise Unavailable(f"{path} has no read_bytes")
    return Traffic(entries["read_bytes"], entries["write_bytes"] - entries.get("cancelled_write_bytes", 0))


def folder_bytes(folder: Path) -> int:
    """Space that the files below a folder take, bytes; files that vanish meanwhile count as nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(parent) / name).lstat().st_blocks * 512
    return total
