"""Graphs of many sources, each made within a time and memory limit; what is finished survives a kill."""

import contextlib
import hashlib
import json
import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from nnirp.importers.sources import Source

VERSION = 1
"""Raised when a graph that is made from the same source changes, so that kept work is not taken for new."""
RECYCLE = 25  # graphs after which a worker is replaced: exporters keep memory
WATCH_S = 0.5


@dataclass(frozen=True)
class Limits:
    """What one graph may take before its worker is ended."""

    timeout_s: float = 300.0
    memory_gib: float = 8.0


LIMITS = Limits()


@dataclass(frozen=True)
class Outcome:
    """A graph's file with its nodes, batch and floating-point operations, or why there is none."""

    source: Source
    path: Path | None
    nodes: int = 0
    batch: int = 0
    flops: float = 0.0
    error: str | None = None


def make_graphs(
    sources: Sequence[Source],
    work: Path,
    *,
    jobs: int = 1,
    limits: Limits = LIMITS,
    on_progress: Callable[..., None] = lambda *_: None,
) -> dict[Source, Outcome]:
    """Make every graph, in the order of the sources, in worker processes.

    Args:
        sources: what to make; duplicates are made once.
        work: keeps a file a graph by a digest of its source and the libraries' versions; what is there is not made again. A
            failure is kept too, but for one of time, memory or a crash, which the next call tries again.
        jobs: worker processes.
        on_progress: called with graphs done, their number, and the last one's name.
    """
    work.mkdir(parents=True, exist_ok=True)
    unique = list(dict.fromkeys(sources))
    places = {source: work / _digest(source) for source in unique}
    outcomes = {source: found for source in unique if (found := _kept(source, places[source]))}
    left = [source for source in unique if source not in outcomes]
    on_progress(len(outcomes), len(unique), "")
    workers = _Workers(limits)
    try:
        with ThreadPoolExecutor(jobs) as pool:
            futures = {pool.submit(workers.make, source, places[source]): source for source in left}
            try:
                for future in as_completed(futures):
                    outcomes[futures[future]] = future.result()
                    on_progress(len(outcomes), len(unique), futures[future].name)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                workers.close()
                raise
    finally:
        workers.close()
    return {source: outcomes[source] for source in unique}


class _Workers:
    """A worker process a thread, replaced when it is lost or has made its share."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.of_thread = threading.local()
        self.all: list[_Worker] = []

    def make(self, source: Source, place: Path) -> Outcome:
        worker: _Worker | None = getattr(self.of_thread, "worker", None)
        if worker is None or worker.made >= RECYCLE or not worker.process.is_alive():
            if worker is not None:
                worker.close()
            worker = self.of_thread.worker = _Worker()
            self.all.append(worker)
        answer = worker.ask(source, self.limits)
        if "lost" in answer:
            return Outcome(source, None, error=answer["lost"])
        if "content" in answer:
            draft = place.with_suffix(".part")
            draft.write_bytes(answer.pop("content"))
            draft.replace(place.with_suffix(".onnx"))
        draft = place.with_suffix(".part")
        draft.write_text(json.dumps({"source": asdict(source), **answer}, indent=1) + "\n", encoding="utf-8")
        draft.replace(place.with_suffix(".json"))
        return _kept(source, place)

    def close(self) -> None:
        for worker in self.all:
            worker.close()


class _Worker:
    """A fresh process that makes graphs until its pipe closes."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, end = context.Pipe()
        self.process = context.Process(target=_serve, args=(end,), daemon=True)
        self.process.start()
        end.close()
        self.made = 0

    def ask(self, source: Source, limits: Limits) -> dict:
        """The answer for one source; `lost` where the worker had to be ended, or ended by itself."""
        from nnirp.profiling.process import resident_bytes

        self.made += 1
        deadline = time.monotonic() + limits.timeout_s
        try:
            self.pipe.send(source)
            while not self.pipe.poll(WATCH_S):
                held = resident_bytes(self.process.pid) / 2**30
                if time.monotonic() > deadline:
                    return self._lost(f"no graph after {limits.timeout_s:g} s")
                if held > limits.memory_gib:
                    return self._lost(f"more than {limits.memory_gib:g} GiB of memory at export")
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(5)
            return self._lost(f"the exporting process ended with code {self.process.exitcode}")

    def _lost(self, reason: str) -> dict:
        self.close()
        return {"lost": reason}

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(pipe: Connection) -> None:
    """What a worker does: a source in, a graph or a reason out."""
    import logging
    import warnings

    import torch

    from nnirp.importers.sources import make_graph

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            source = pipe.recv()
            try:
                answer = {**asdict(make_graph(source)), "error": None}
            except Exception as error:
                answer = {"nodes": 0, "batch": 0, "flops": 0.0, "error": _reason(error)}
            pipe.send(answer)


def _reason(error: Exception) -> str:
    """What went wrong in one line: the project's own errors say it, of others the innermost does."""
    from nnirp.errors import NnirpError, innermost

    cause = innermost(error)
    text = str(error) if isinstance(error, NnirpError) else f"{type(cause).__name__}: {cause}"
    return " ".join(text.split())[:300]


def _kept(source: Source, place: Path) -> Outcome | None:
    try:
        row = json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    path = place.with_suffix(".onnx")
    if row["error"] is None and not path.is_file():
        return None
    return Outcome(source, None if row["error"] else path, row["nodes"], row["batch"], row["flops"], row["error"])


def _digest(source: Source) -> str:
    from nnirp.features.encoder import ENCODER_VERSION
    from nnirp.graphs.export import environment
    from nnirp.graphs.layer import VERSION as EXPORT_VERSION

    content = b""
    if source.kind == "onnx" and Path(source.name).is_file():
        content = hashlib.sha256(Path(source.name).read_bytes()).digest()
    parts = [asdict(source), environment(), VERSION, EXPORT_VERSION, ENCODER_VERSION]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode() + content).hexdigest()[:24]
