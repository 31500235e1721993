"""The measuring process: pinned, limited, alone with one source configuration; it answers one request after another.

Requests and answers are lines of JSON on a socket. After the settings come `prepare` (build a sample, run it once and measure its
memory), `visit` (time a prepared sample), `release` (drop it) and `calibrate`. The fork server sets the thread and OpenMP variables in the
environment, because they are read when torch is imported.
"""

import contextlib
import json
import os
import resource
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nnirp.profiling.settings import ProfileSettings

OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "cannot allocate memory", "out of memory", "bad_alloc")


def main(descriptor: int, forked: bool) -> None:
    """Serve on the socket with that file descriptor until it is closed."""
    channel = socket.socket(fileno=descriptor)
    lines = channel.makefile("r", encoding="utf-8")
    hello = json.loads(lines.readline())
    tools, skip = open_tools(ProfileSettings(**hello["settings"]), Path(hello["folder"]))
    tools.environment["forked"] = forked
    answer(channel, {"environment": tools.environment, "cpu_s": time.process_time()})
    for line in lines:
        used = time.process_time()
        content = serve(tools, json.loads(line), skip)
        answer(channel, content | {"cpu_s": time.process_time() - used})
        if content.get("stop"):
            return


def open_tools(settings: ProfileSettings, folder: Path) -> tuple[Any, Callable[[str], str]]:
    """Take this process's place on the machine and open its instruments.

    Returns:
        The instruments, and a function that says why samples of a precision are skipped, empty where they are not.
    """
    cores = pin(settings)
    environment: dict[str, Any] = {"affinity": sorted(cores), "nice": raise_priority()}
    with contextlib.suppress(OSError):  # when memory runs out, this process goes first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")

    import tempfile

    import torch

    from nnirp.profiling.fingerprint import device_fingerprint, runs_bf16
    from nnirp.profiling.measurement import instruments
    from nnirp.profiling.model import Bench, import_build, prime
    from nnirp.runtimes import require

    tempfile.tempdir = None  # the fork server may have looked up its own
    torch.set_num_threads(settings.threads)
    with contextlib.suppress(RuntimeError):
        torch.set_num_interop_threads(1)
    torch.manual_seed(settings.seed)
    runtime = require(settings.runtime, settings.device)
    build = import_build(settings.build)
    fingerprint = device_fingerprint(settings.device, runtime=settings.runtime, threads=settings.threads)
    environment["fingerprint"] = fingerprint
    prime(settings.device, runtime)
    bench = Bench(build, runtime, settings.device, settings.check_outputs)
    tools = instruments(settings, bench, cores, folder, environment)
    if settings.device == "cpu":
        limit_memory(settings.memory_limit_gib)

    def skip(precision: str) -> str:
        if precision not in runtime.precisions:
            return f"runtime {runtime.name} does not take {precision}"
        if precision == "bf16" and not (settings.force_precision or runs_bf16(fingerprint)):
            return "this device has no bfloat16 instructions; profile.force_precision measures their emulation"
        return ""

    return tools, skip


def serve(tools: Any, request: dict[str, Any], skip: Callable[[str], str]) -> dict[str, Any]:
    """Answer one request; `stop` in the answer asks for a fresh process, after memory has run out."""
    import torch

    from nnirp.profiling import measurement

    if request["do"] == "calibrate":
        return measurement.calibrate(tools, request["own"])
    if request["do"] == "release":
        tools.bench.release(request["sample"])
        return {"held_bytes": tools.bench.held_bytes()}
    try:
        if request["do"] == "visit":
            return {"round": measurement.visit(tools, request["sample"], request["budget_s"], request["most"])}
        configuration, sample = revive(request["configuration"], request["sample"])
        if reason := skip(sample.precision):
            return {"failed": ["skipped", reason], "held_bytes": tools.bench.held_bytes()}
        record = measurement.prepare(tools, configuration, sample)
        return {"record": record, "held_bytes": tools.bench.held_bytes()}
    except Exception as error:  # whatever a model does is a row of the layer, never the end of a campaign
        spent = isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
            sign in str(error).lower() for sign in OUT_OF_MEMORY
        )
        error.__traceback__ = None  # frames hold tensors
        status, words = "memory" if spent else "error", f"{type(error).__name__}: {error}"
        name = request["sample"] if request["do"] == "visit" else request["sample"]["name"]
        tools.bench.drop(name)
        return {"failed": [status, words], "held_bytes": tools.bench.held_bytes(), "stop": spent}


def revive(configuration: dict[str, Any], sample: dict[str, Any]) -> tuple[Any, Any]:
    """Configuration and sample objects from their JSON form: the catalog's classes where they fit, else plain ones."""
    from types import SimpleNamespace

    try:
        from nnirp.catalog import Sample, SourceConfiguration

        return SourceConfiguration(**{**configuration, "samples": ()}), Sample(**sample)
    except (ImportError, TypeError):
        return SimpleNamespace(**configuration, samples=()), SimpleNamespace(**sample)


def pin(settings: ProfileSettings) -> set[int]:
    """Pin this process; returns the cores it may use."""
    allowed = sorted(os.sched_getaffinity(0))
    if settings.cpu == "none":
        return set(allowed)
    first = allowed.index(settings.cpu) if settings.cpu in allowed else max(0, len(allowed) - settings.threads)
    chosen = set(allowed[first : first + settings.threads])
    os.sched_setaffinity(0, chosen)
    return chosen


def raise_priority() -> int:
    """Raise the scheduling priority where that is allowed; returns the nice value.

    Linux shares a core between sessions first and looks at nice values only inside one (sched(7), autogroup), so the worker
    gets a session of its own, whose nice value is raised as well.
    """
    with contextlib.suppress(OSError):
        os.setsid()
    with contextlib.suppress(OSError):
        os.nice(-10)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text("-10", encoding="ascii")
    return os.nice(0)


def limit_memory(gib: float) -> None:
    """Make allocations beyond the limit fail: private writable memory, from what the process holds now."""
    from nnirp.profiling.monitors import memory

    with contextlib.suppress(OSError, ValueError):
        held = memory.resident()
        most = int(gib * 2**30) + held.data
        _soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def answer(channel: socket.socket, content: dict[str, Any]) -> None:
    """Send one line of JSON."""
    channel.sendall(json.dumps(content).encode() + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), forked=False)
