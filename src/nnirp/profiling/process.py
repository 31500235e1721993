"""The parent's side of a worker: asleep until an answer, the time limit, or the memory limit."""

import json
import os
import select
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

WATCH_S = 0.5  # one look at the worker's memory, some 20 µs on another core


@dataclass(frozen=True)
class Lost:
    """A worker that gave no answer: `timeout`, `memory` or `crash`, and what is known about it."""

    status: str
    error: str


def thread_environment(settings: ProfileSettings, folder: Path) -> dict[str, str]:
    """The environment of a worker: threads, waiting threads that sleep, caches and temporary files in its folder."""
    threads = str(settings.threads)
    return {
        **os.environ,
        "OMP_WAIT_POLICY": "PASSIVE",
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "PYTHONHASHSEED": "0",
        "TOKENIZERS_PARALLELISM": "false",
        "TMPDIR": str(folder),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }


class WorkerProcess:
    """A fresh measuring process.

    Args:
        settings: of the campaign.
        folder: work folder; the worker's own temporary folder and its log are made in it.

    Raises:
        NnirpError: the worker ended, or took too long, before it was ready; the message holds the last line it wrote.
    """

    def __init__(self, settings: ProfileSettings, folder: Path) -> None:
        self.settings = settings
        folder.mkdir(parents=True, exist_ok=True)
        self.scratch = tempfile.TemporaryDirectory(prefix="worker-", dir=folder, ignore_cleanup_errors=True)
        self.log = folder / "worker.log"
        path = Path(self.scratch.name).resolve()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "nnirp.profiling.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=thread_environment(settings, path),
            )
        self.buffer = b""
        self._send({"settings": settings.to_dict(), "folder": str(path)})
        answer = self._receive(settings.start_timeout_s)
        if isinstance(answer, Lost):
            self.close()
            raise NnirpError(
                f"the measuring process did not start ({answer.error}): {self.last_words()}; see {self.log}"
            )
        self.environment: dict[str, Any] = answer["environment"]

    def measure(self, configuration: Mapping, sample: Mapping, reference: Mapping | None) -> dict | Lost:
        """Ask for one sample. After `Lost`, or an answer whose `stop` is true, the worker is gone."""
        self._send({"configuration": configuration, "sample": sample, "reference": reference})
        answer = self._receive(self.settings.timeout_s)
        if isinstance(answer, Lost) or answer["stop"]:
            self.close()
        return answer

    def close(self) -> None:
        """End the worker and remove its temporary folder."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                continue
        self.scratch.cleanup()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def last_words(self) -> str:
        """The last line on the worker's standard error."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else "it wrote nothing"

    def _send(self, content: Mapping) -> None:
        try:
            self.process.stdin.write(json.dumps(content).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return  # it is gone; receiving says how

    def _receive(self, timeout_s: float) -> dict | Lost:
        deadline = time.monotonic() + timeout_s
        limit = int(self.settings.memory_limit_gib * 2**30)
        descriptor = self.process.stdout.fileno()
        while True:
            line, found, rest = self.buffer.partition(b"\n")
            if found:
                self.buffer = rest
                return json.loads(line)
            left = deadline - time.monotonic()
            if left <= 0:
                return self._end("timeout", f"no result within {timeout_s:g} s")
            ready, _, _ = select.select([descriptor], [], [], min(left, WATCH_S))
            if ready:
                chunk = os.read(descriptor, 1 << 20)
                if not chunk:
                    return self._ended()
                self.buffer += chunk
            elif (held := resident_bytes(self.process.pid)) > limit:
                return self._end(
                    "memory", f"{held / 2**30:.1f} GiB resident, limit {self.settings.memory_limit_gib:g} GiB"
                )

    def _end(self, status: str, error: str) -> Lost:
        self.process.kill()
        self.process.wait()
        return Lost(status, error)

    def _ended(self) -> Lost:
        code = self.process.wait()
        words = self.last_words()
        if code < 0:
            return Lost("crash", f"killed by signal {-code}: {words}")
        return Lost("crash", f"ended with exit code {code}: {words}")


def resident_bytes(pid: int) -> int:
    """Resident memory of another process, bytes; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
