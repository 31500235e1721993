"""Resident memory of a model: weights, inputs, activations and workspace, told apart from the rest of the process.

`Peak RAM (MB)` is the model part plus the run part.
The model part is the weights and buffers, where the runtime says how many bytes they are; elsewhere it is the growth of the anonymous
resident memory while it prepares a converted model. That growth is recorded beside it in any case.
The run part is the high-water mark of resident memory during one inference minus what was resident before it, plus the
inputs, so it holds inputs, activations, outputs and workspace. For a runtime with an allocator of its own, which keeps
its arena between calls, "before" is before the first call.
Pages of shared libraries that happen to be touched for the first time are left out, because they depend on what ran
before in the process and not on the model. Free pages of the allocator are given back before each reading, and the inference
runs in a thread of its own with every block of 64 KiB or more mapped alone: the peak is that of live memory, without what
the allocator keeps in reserve, and does not depend on the samples that were measured before.
"""

import contextlib
import ctypes
import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnirp.profiling.loop import host_clock
from nnirp.profiling.monitors import MIB, Unavailable

STATUS, CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_KIB_FIELDS = ("VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem", "VmData")


@dataclass(frozen=True)
class Resident:
    """Resident memory of a process, bytes."""

    peak: int
    total: int
    anonymous: int
    files: int
    shared: int
    data: int

    @property
    def private_peak(self) -> int:
        """The high-water mark without file pages, which are the same before and after once the model has run."""
        return self.peak - self.files


def parse_status(text: str) -> Resident:
    """Read the memory fields of `/proc/<pid>/status`.

    Raises:
        Unavailable: the kernel does not list them.
    """
    entries = {key: value for key, _, value in (line.partition(":") for line in text.splitlines())}
    missing = [name for name in _KIB_FIELDS if name not in entries]
    if missing:
        raise Unavailable(f"/proc/self/status has no {missing[0]}")
    return Resident(*(int(entries[name].split()[0]) * 1024 for name in _KIB_FIELDS))


def resident(status: Path = STATUS) -> Resident:
    """Resident memory of this process now."""
    try:
        return parse_status(status.read_text(encoding="ascii"))
    except OSError as error:
        raise Unavailable(f"{status} cannot be read: {error.strerror}") from None


def settle(libc: ctypes.CDLL | None = None) -> None:
    """Collect garbage and give the allocator's free pages back to the kernel (glibc's `malloc_trim`)."""
    gc.collect()
    try:
        (libc or ctypes.CDLL(None)).malloc_trim(0)
    except (OSError, AttributeError):
        return


def saturate_mmap_threshold() -> None:
    """Bring glibc's sliding threshold between heap and mmap to its ceiling (32 MiB), where a long-running process has it.

    The threshold rises to the size of every mapped block that is freed (mallopt(3), M_MMAP_THRESHOLD); left alone,
    times and peaks would depend on which samples the process has measured before.
    """
    try:
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        libc.malloc.argtypes = [ctypes.c_size_t]
        libc.free.argtypes = [ctypes.c_void_p]
        for size in (1 << 20, 8 << 20, (32 << 20) - 8192):
            libc.free(libc.malloc(size))
    except (OSError, AttributeError):
        return


M_MMAP_THRESHOLD = -3  # mallopt(3)


class Apart:
    """Calls with every block of 64 KiB or more mapped alone and unmapped when freed, in a thread that does nothing else.

    In that thread glibc has no free chunks of earlier models. Elsewhere it fills those up first, without looking at the threshold, and
    the peaks of one model differed by up to a third.
    """

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1)

    def __call__(self, call: Callable[[], Any]) -> float:
        """Call once; returns milliseconds and raises what the call raises."""
        with _large_blocks_mapped():
            return self.thread.submit(host_clock, call).result()


@contextlib.contextmanager
def _large_blocks_mapped() -> Iterator[None]:
    """Lower glibc's threshold to 64 KiB while the block runs, then go back to its ceiling of 32 MiB."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        yield
        return
    mallopt(M_MMAP_THRESHOLD, 64 << 10)
    try:
        yield
    finally:
        mallopt(M_MMAP_THRESHOLD, 32 << 20)


def reset_peak(clear_refs: Path = CLEAR_REFS) -> None:
    """Set the high-water mark to what is resident now; `ru_maxrss` never does so.

    Raises:
        Unavailable: the kernel does not let this process write `clear_refs`.
    """
    try:
        clear_refs.write_text("5", encoding="ascii")
    except OSError as error:
        raise Unavailable(f"the high-water mark cannot be reset: {error.strerror}") from None


@dataclass(frozen=True)
class MemoryParts:
    """Peak memory of one inference, bytes."""

    model: int
    inputs: int
    run_peak: int
    process_peak: int

    def megabytes(self) -> dict[str, float]:
        """For the record: process total, model part and workspace (activations, outputs and scratch) apart."""
        return {
            "process_peak": self.process_peak / MIB,
            "model": self.model / MIB,
            "inputs": self.inputs / MIB,
            "workspace": max(0, self.run_peak - self.inputs) / MIB,
        }

    def total(self) -> float:
        """Model part plus run part, MB."""
        return (self.model + self.run_peak) / MIB
