"""The campaign's side of a worker: asleep until an answer, the time limit, or the memory limit."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnirp.errors import NnirpError
from nnirp.profiling.settings import ProfileSettings

ENDING_S = 10.0  # between closing its channel and the end of a worker: freeing its memory
WATCH_S = 0.5  # one look at the worker's memory, some 20 µs on another core


@dataclass(frozen=True)
class Lost:
    """A worker that gave no answer: `timeout`, `memory` or `crash`, and what is known about it."""

    status: str
    error: str


def thread_environment(settings: ProfileSettings) -> dict[str, str]:
    """Environment of every measuring process: threads, and waiting threads that sleep. Read when torch is imported."""
    threads = str(settings.threads)
    return {
        "OMP_WAIT_POLICY": "PASSIVE",
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": "1",  # numpy's, which is not measured and would start threads when imported
        "PYTHONHASHSEED": "0",
        "TOKENIZERS_PARALLELISM": "false",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }


def own_places(folder: Path) -> dict[str, str]:
    """Environment of one worker: temporary files and compiler caches in its folder."""
    return {
        "TMPDIR": str(folder),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }


class ForkServer:
    """The process that workers are forked from; see `nnirp.profiling.server`.

    Args:
        settings: of the campaign.
        folder: work folder; logs and the workers' own folders are made in it.

    Raises:
        NnirpError: it ended, or took too long, before it was ready.
    """

    def __init__(self, settings: ProfileSettings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "server.log"
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.codes: dict[int, int] = {}
        hello = json.dumps(
            {
                "preload": list(settings.preload),
                "build": settings.build,
                "runtime": settings.runtime,
                "fork": settings.device == "cpu",
            }
        )
        with theirs, self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "nnirp.profiling.server", str(theirs.fileno()), hello],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **thread_environment(settings)},
            )
        self.lines = Lines(self.control)
        if self.lines.read(settings.start_timeout_s) is None:
            self.close()
            raise NnirpError(f"the measuring process did not start: {last_line(self.log)}; see {self.log}")

    def start(self, channel: socket.socket, scratch: Path, log: Path) -> int:
        """Fork a worker that serves the other end of `channel`; returns its process id."""
        request = json.dumps({"log": str(log.resolve()), "environment": own_places(scratch)})
        socket.send_fds(self.control, [request.encode()], [channel.fileno()])
        while answer := self.lines.read(self.settings.start_timeout_s):
            if "pid" in answer:
                return answer["pid"]
            self.codes[answer["ended"]] = answer["code"]
        raise NnirpError(f"the fork server is gone: {last_line(self.log)}; run the same command again")

    def ended(self, pid: int, timeout_s: float) -> int | None:
        """Wait for a worker's end: its exit code, the negative number of the signal that ended it, None when it goes on.

        Its process id is free for others afterwards.
        """
        deadline = time.monotonic() + timeout_s
        while pid not in self.codes:
            answer = self.lines.read(max(0.0, deadline - time.monotonic()))
            if answer is None:
                return None if self.lines.open else -signal.SIGKILL
            self.codes[answer["ended"]] = answer["code"]
        with contextlib.suppress(OSError):
            self.control.send(json.dumps({"reap": pid}).encode())
        return self.codes.pop(pid)

    def close(self) -> None:
        """End the server and with it what it forked."""
        self.process.kill()
        self.process.wait()
        self.control.close()

    def __enter__(self) -> "ForkServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Lines:
    """Lines of JSON from a socket."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel, self.buffer, self.open = channel, b"", True

    def read(self, timeout_s: float) -> dict | None:
        """The next line, or None when the time is over or the other end is closed (then `open` is false)."""
        deadline = time.monotonic() + timeout_s
        while True:
            line, found, rest = self.buffer.partition(b"\n")
            if found:
                self.buffer = rest
                return json.loads(line)
            if not select.select([self.channel], [], [], max(0.0, deadline - time.monotonic()))[0]:
                return None
            try:
                chunk = self.channel.recv(1 << 20)
            except ConnectionError:
                chunk = b""
            if not chunk:
                self.open = False
                return None
            self.buffer += chunk


class WorkerProcess:
    """A fresh measuring process.

    Args:
        server: that forks it.
        settings: of the worker.

    Raises:
        NnirpError: the worker ended, or took too long, before it was ready; the message holds the last line it wrote.
    """

    def __init__(self, server: ForkServer, settings: ProfileSettings) -> None:
        self.server, self.settings = server, settings
        self.scratch = tempfile.TemporaryDirectory(prefix="worker-", dir=server.folder, ignore_cleanup_errors=True)
        self.log = Path(f"{self.scratch.name}.log")
        path = Path(self.scratch.name).resolve()
        self.channel, theirs = socket.socketpair()
        self.base_bytes, self.code = 0, None
        self.cpu_s = 0.0
        with theirs:
            self.pid = server.start(theirs, path, self.log)
        self.lines = Lines(self.channel)
        answer = self.ask({"settings": self.settings.to_dict(), "folder": str(path)}, self.settings.start_timeout_s)
        if isinstance(answer, Lost):
            raise NnirpError(
                f"the measuring process did not start ({answer.error}); see {server.folder / 'worker.log'}"
            )
        self.environment: dict[str, Any] = answer["environment"]
        self.base_bytes = resident_bytes(self.pid)

    def ask(self, request: Mapping[str, Any], timeout_s: float | None = None) -> dict | Lost:
        """Send a request and wait for its answer. After `Lost`, or an answer whose `stop` is true, the worker is gone."""
        with contextlib.suppress(OSError):  # it is gone; receiving says how
            self.channel.sendall(json.dumps(request).encode() + b"\n")
        answer = self._receive(timeout_s or self.settings.timeout_s)
        self.cpu_s += 0.0 if isinstance(answer, Lost) else answer.pop("cpu_s", 0.0)
        if isinstance(answer, Lost) or answer.get("stop"):
            self.close()
        return answer

    def close(self) -> None:
        """End the worker and remove its temporary folder."""
        self._kill()
        self.channel.close()
        self.scratch.cleanup()
        self.log.unlink(missing_ok=True)

    @property
    def alive(self) -> bool:
        """Whether it has not been ended."""
        return self.code is None

    def _kill(self) -> int:
        """End the worker if it runs and return how it ended; its process id is its own until then."""
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.code = self.server.ended(self.pid, self.settings.start_timeout_s)
            if self.code is None:
                raise NnirpError(f"worker {self.pid} does not end; end it by hand and run the same command again")
        return self.code

    def _receive(self, timeout_s: float) -> dict | Lost:
        deadline = time.monotonic() + timeout_s
        limit = self.base_bytes + int(self.settings.memory_limit_gib * 2**30)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                self._kill()
                return Lost("timeout", f"no result within {timeout_s:g} s")
            answer = self.lines.read(min(left, WATCH_S))
            if answer is not None:
                return answer
            if not self.lines.open:
                return self._lost()
            held = resident_bytes(self.pid)
            if self.base_bytes and held > limit:
                self._kill()
                gib = (held - self.base_bytes) / 2**30
                return Lost("memory", f"{gib:.1f} GiB taken, limit {self.settings.memory_limit_gib:g} GiB")

    def _lost(self) -> Lost:
        """The channel is closed: the worker ended by itself, or is about to."""
        self.code = self.server.ended(self.pid, ENDING_S)
        if self.code is None:
            self._kill()
        words = last_line(self.log)
        with contextlib.suppress(OSError):
            self.log.replace(self.server.folder / "worker.log")  # for people
        how = f"killed by signal {-self.code}" if self.code < 0 else f"ended with exit code {self.code}"
        return Lost("crash", f"{how}: {words}")


def last_line(log: Path) -> str:
    """The last line of a log."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1].strip() if lines else "it wrote nothing"


def resident_bytes(pid: int) -> int:
    """Resident memory of another process, bytes; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
