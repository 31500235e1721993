"""Where a clone of the project keeps its things, and how a finished stage output replaces the previous one."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nnirp.errors import InputError
from nnirp.parameters import Parameters, load_parameters


@dataclass(frozen=True)
class Project:
    """A clone of the project: a folder with `dvc.yaml` and `params.yaml`.

    `dataset` is another dataset root than `data/`, such as one measured on another device; its models and reports then
    lie inside it.
    """

    root: Path
    dataset: Path | None = None

    @property
    def data(self) -> Path:
        return self.dataset or self.root / "data"

    @property
    def manifests(self) -> Path:
        return self.data / "manifests"

    @property
    def models(self) -> Path:
        return (self.dataset or self.root) / "models"

    @property
    def champion(self) -> Path:
        """The exported predictor that answers without torch."""
        return self.models.with_name("champion")

    @property
    def reports(self) -> Path:
        return (self.dataset or self.root) / "reports"

    @property
    def work(self) -> Path:
        """Progress of unfinished stages; survives a kill, ignored by git and DVC."""
        return (self.dataset or self.root) / ".work"

    @cached_property
    def parameters(self) -> Parameters:
        return load_parameters(self.root / "params.yaml")


def find_project(start: Path | None = None) -> Project:
    """The project that holds `start` (the current folder by default), else the clone that the package was installed from.

    `DVC_ROOT` wins where DVC sets it, because `dvc exp run --temp` runs stages in a copy.

    Raises:
        InputError: no folder upwards holds a `dvc.yaml` and a `params.yaml`.
    """
    if start is None and (root := os.environ.get("DVC_ROOT")):
        return Project(Path(root))
    here = (start or Path.cwd()).resolve()
    installed_from = Path(__file__).resolve().parents[2]  # the clone of an editable installation
    for folder in (here, *here.parents, installed_from):
        if (folder / "dvc.yaml").is_file() and (folder / "params.yaml").is_file():
            return Project(folder)
    raise InputError(
        f"{here} is not inside a project (no dvc.yaml and params.yaml upwards); `cd` into a clone, or name one with --project"
    )


@contextmanager
def publishing(*targets: Path, work: Path) -> Iterator[tuple[Path, ...]]:
    """Write outputs into `work` and rename each onto its target when the block ends without an error.

    Args:
        targets: files or folders that a stage publishes; replaced only when all are complete.
        work: a folder on the same file system.

    Yields:
        One path a target, inside `work`, absent at first.
    """
    staging = work / f"publish-{uuid.uuid4().hex[:8]}"
    staging.mkdir(parents=True)
    drafts = tuple(staging / f"{number}-{target.name}" for number, target in enumerate(targets))
    try:
        yield drafts
        missing = [target.name for target, draft in zip(targets, drafts, strict=True) if not draft.exists()]
        if missing:
            raise RuntimeError(f"the stage ended without writing {', '.join(missing)}")
        for target, draft in zip(targets, drafts, strict=True):
            replace(draft, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def replace(draft: Path, target: Path) -> None:
    """Rename a file or folder onto `target`; an existing folder is moved aside first and deleted afterwards."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.is_dir():
        draft.replace(target)
        return
    aside = draft.with_name(draft.name + ".previous")
    target.rename(aside)
    draft.rename(target)
    shutil.rmtree(aside, ignore_errors=True)
