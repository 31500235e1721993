"""The measuring process: pinned, limited, alone with one source configuration; it answers one request after another.

Requests and answers are lines of JSON on standard input and output. The parent sets the thread and OpenMP variables in
the environment, because they are read when torch is imported.
"""

import contextlib
import json
import os
import resource
import sys
from pathlib import Path
from typing import IO, Any

from nnirp.profiling.settings import ProfileSettings

OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "cannot allocate memory", "out of memory", "bad_alloc")


def main() -> None:
    """Serve until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what a model prints must not look like an answer
    requests = sys.stdin
    hello = json.loads(requests.readline())
    settings, folder = ProfileSettings(**hello["settings"]), Path(hello["folder"])
    cores = pin(settings)
    environment: dict[str, Any] = {"affinity": sorted(cores), "nice": raise_priority()}
    with contextlib.suppress(OSError):  # when memory runs out, this process goes first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")

    import torch

    from nnirp.profiling.fingerprint import device_fingerprint, runs_bf16
    from nnirp.profiling.measurement import instruments
    from nnirp.profiling.model import Bench, die_with_parent, import_build, prime
    from nnirp.runtimes import require

    die_with_parent()
    torch.set_num_threads(settings.threads)
    with contextlib.suppress(RuntimeError):
        torch.set_num_interop_threads(1)
    torch.manual_seed(settings.seed)
    runtime = require(settings.runtime, settings.device)
    build = import_build(settings.build)
    fingerprint = device_fingerprint(settings.device, runtime=settings.runtime, threads=settings.threads)
    environment["fingerprint"] = fingerprint
    prime(settings.device)
    bench = Bench(build, runtime, settings.device, settings.check_outputs)
    tools = instruments(settings, bench, cores, folder, environment)
    if settings.device == "cpu":
        limit_memory(settings.memory_limit_gib)
    _answer(answers, {"event": "ready", "environment": environment})
    for line in requests:
        request = json.loads(line)
        skip = None
        if request["sample"]["precision"] not in runtime.precisions:
            skip = f"runtime {runtime.name} does not take {request['sample']['precision']}"
        elif request["sample"]["precision"] == "bf16" and not (settings.force_precision or runs_bf16(fingerprint)):
            skip = "this device has no bfloat16 instructions; profile.force_precision measures their emulation"
        record, stop = serve(tools, request, skip)
        _answer(answers, {"event": "record", "record": record, "stop": stop})
        if stop:
            return


def serve(tools: Any, request: dict, skip: str | None) -> tuple[dict, bool]:
    """Answer one request; the second value asks for a fresh process, after memory has run out."""
    import torch

    from nnirp.profiling.measurement import measure_sample
    from nnirp.profiling.model import revive
    from nnirp.profiling.record import failed_record

    configuration, sample = revive(request["configuration"], request["sample"])
    failure = (configuration, sample, tools.settings, tools.environment)
    if skip:
        return failed_record(*failure, "skipped", skip), False
    try:
        return measure_sample(tools, configuration, sample, request["reference"]), False
    except Exception as error:  # whatever a model does is a row of the layer, never the end of a campaign
        spent = isinstance(error, MemoryError | torch.OutOfMemoryError) or any(
            sign in str(error).lower() for sign in OUT_OF_MEMORY
        )
        record = failed_record(*failure, "memory" if spent else "error", f"{type(error).__name__}: {error}")
        error.__traceback__ = None  # frames hold tensors
        tools.last_calibration = None
        tools.bench.clear()
        return record, spent


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
    """Raise the scheduling priority where that is allowed; returns the nice value."""
    with contextlib.suppress(OSError):
        os.nice(-10)
    return os.nice(0)


def limit_memory(gib: float) -> None:
    """Make allocations beyond the limit fail: private writable memory, from what the process holds now."""
    from nnirp.profiling.monitors import memory

    with contextlib.suppress(OSError, ValueError):
        held = memory.resident()
        most = int(gib * 2**30) + held.data - held.anonymous
        _soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _answer(answers: IO[str], content: dict) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
