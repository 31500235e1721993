"""Finished records of a campaign, one file a sample, written atomically: a kill loses nothing and doubles nothing."""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nnirp.errors import InputError

FLAT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=@-]{0,240}")
MAIN, RETEST = "records", "retest"


class Journal:
    """The work folder of one campaign: `campaign.json`, `records/<sample>.json` and `retest/<sample>.json`."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        for kind in (MAIN, RETEST):
            (self.folder / kind).mkdir(parents=True, exist_ok=True)
            for draft in (self.folder / kind).glob("*.draft"):
                draft.unlink(missing_ok=True)  # of a process that was killed while writing

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one campaign; the kernel releases it when the process ends, however that happens.

        Raises:
            InputError: another campaign runs in this folder.
        """
        with (self.folder / "lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"{self.folder}: a campaign is running here; wait for it, or name another work folder"
                ) from None
            for scratch in self.folder.glob("worker-*"):  # of workers whose campaign was killed
                if scratch.is_file():
                    scratch.unlink()
                shutil.rmtree(scratch, ignore_errors=True)
            yield

    def identify(self, settings_digest: str, fingerprint: dict) -> None:
        """Refuse to mix: the first worker of a campaign says what it is, the later ones must say the same.

        Raises:
            InputError: the folder holds samples of another device or of other settings.
        """
        path = self.folder / "campaign.json"
        identity = {"settings_digest": settings_digest, "fingerprint": fingerprint}
        if not path.exists():
            write_atomically(path, identity)
            return
        held = json.loads(path.read_text(encoding="utf-8"))
        way_out = f"name another work folder, or delete {self.folder} to measure all again"
        if held["fingerprint"] != fingerprint:
            differing = sorted(k for k in fingerprint if k != "digest" and held["fingerprint"].get(k) != fingerprint[k])
            raise InputError(
                f"{self.folder} holds samples of another device ({', '.join(differing)} differ); {way_out}"
            )
        if held["settings_digest"] != settings_digest:
            raise InputError(f"{self.folder} holds samples measured with other settings; {way_out}")

    def has(self, kind: str, sample: str) -> bool:
        return self._path(kind, sample).exists()

    def read(self, kind: str, sample: str) -> dict | None:
        """A finished record, or None."""
        try:
            return json.loads(self._path(kind, sample).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def write(self, kind: str, sample: str, record: dict) -> None:
        """Replace the record of a sample."""
        write_atomically(self._path(kind, sample), record)

    def drop(self, kind: str, sample: str) -> None:
        """Forget a record, so that its sample is measured again."""
        self._path(kind, sample).unlink(missing_ok=True)

    def _path(self, kind: str, sample: str) -> Path:
        if not FLAT_NAME.fullmatch(sample):
            raise InputError(f"sample name {sample!r} is not a plain file name; mend the catalog and write it again")
        return self.folder / kind / f"{sample}.json"


def write_atomically(path: Path, content: dict) -> None:
    """Write JSON beside `path`, flush it to storage and rename it into place."""
    draft = path.with_name(path.name + ".draft")
    with draft.open("w", encoding="utf-8") as handle:
        json.dump(content, handle, sort_keys=True, indent=1)
        handle.write("\n")
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(path)
