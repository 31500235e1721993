"""Where the results of a device lie, whom they belong to, and the lock that keeps two sweeps from measuring at once."""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnirp.compilers.configuration import Compiler, Measurement
from nnirp.compilers.rows import Row, read_row, write_row
from nnirp.errors import InputError
from nnirp.profiling.journal import FLAT_NAME, write_atomically

LABEL = re.compile(r"[a-z0-9][a-z0-9_.-]{0,40}")
MACHINE = ("device", "processor", "cores", "logical_cores", "memory_gib", "system", "gpu")
"""Of a fingerprint: what all compilers of one label share."""
_NOT_MEANING = ("timeout_s", "memory_limit_gib", "statistic", "settled_within")


@dataclass(frozen=True)
class Place:
    """Results of one device.

    Attributes:
        label: name of the device.
        folder: holds a folder a compiler.
        work: scratch of measuring processes.
    """

    label: str
    folder: Path
    work: Path

    def path(self, compiler: str, run: str) -> Path:
        """The file of one run."""
        if not FLAT_NAME.fullmatch(run):
            raise InputError(f"run {run!r} is not a plain file name; mend the grid of experiments")
        return self.folder / compiler / f"{run}.csv"

    def read(self, compiler: str, run: str) -> Row | None:
        """The row of one run, None where it was not run."""
        path = self.path(compiler, run)
        return read_row(path) if path.exists() else None

    def write(self, row: Row) -> None:
        """Keep a row."""
        write_row(row, self.path(row["compiler"], row["run"]))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder, waiting asleep while another sweep holds it; the kernel releases it when a process ends."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(parents=True, exist_ok=True)
        with (self.work / "lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            for draft in self.folder.rglob("*.draft"):
                draft.unlink(missing_ok=True)  # of a process that was killed while writing
            yield

    def scratch(self) -> Path:
        """A folder for this process's fork servers, after those of processes that are gone were removed."""
        self.work.mkdir(parents=True, exist_ok=True)
        for old in self.work.glob("process-*"):
            if not Path("/proc", old.name.removeprefix("process-")).exists():
                shutil.rmtree(old, ignore_errors=True)
        found = self.work / f"process-{os.getpid()}"
        found.mkdir(exist_ok=True)
        return found

    def identify(self, compiler: Compiler, measurement: Measurement, fingerprint: Mapping[str, Any]) -> None:
        """Refuse to mix: the first run says which machine a label means and how a compiler was set up.

        Raises:
            InputError: the folder holds runs of another machine, of other settings or of other versions.
        """
        ours = {"machine": {name: fingerprint.get(name) for name in MACHINE}}
        self._agree(self.folder / "device.json", ours, "another machine")
        settings = compiler.model_dump(mode="json", exclude={"planning", "max_gflops"})
        settings |= {"cores": compiler.cores, "measurement": measurement.model_dump(exclude=set(_NOT_MEANING))}
        both = {"settings": settings, "fingerprint": dict(fingerprint)}
        self._agree(self.folder / compiler.name / "compiler.json", both, "other settings or versions")

    def _agree(self, path: Path, ours: dict[str, Any], what: str) -> None:
        ours = json.loads(json.dumps(ours))
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, ours)
            return
        held = json.loads(path.read_text(encoding="utf-8"))
        if held != ours:
            differing = sorted(
                f"{part}.{key}"
                for part in ours
                for key in {*ours[part], *held.get(part, {})}
                if key != "digest" and held.get(part, {}).get(key) != ours[part].get(key)
            )
            raise InputError(
                f"{path.parent} holds runs of {what} ({', '.join(differing)} differ); give another label, "
                f"or delete the folder to measure again"
            )


def place_of(benchmarks: Path, work: Path, label: str) -> Place:
    """The place of a device label.

    Raises:
        InputError: the label is no plain name.
    """
    if not LABEL.fullmatch(label):
        raise InputError(
            f"device label {label!r} is not plain; use small letters, digits, '-', '_' and '.', such as xeon"
        )
    return Place(label, benchmarks / label, work / "compilers" / label)
