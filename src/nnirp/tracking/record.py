"""The run record: parameters, metrics, curves and tags of one run, in one JSON file beside its output."""

import hashlib
import json
import os
import platform
import subprocess
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nnirp.errors import InputError
from nnirp.parameters import describe

Kind = Literal["profile", "train", "evaluate", "summary", "tune", "compile"]
Status = Literal["running", "finished", "failed", "pruned"]
Scalar = str | int | float | bool | None
FILE_NAME = "run.json"
LIBRARIES = ("nnirp", "torch", "torch-geometric", "onnx", "onnxruntime", "transformers", "timm", "numpy", "lightgbm")


class RunRecord(BaseModel):
    """One run. `metrics` are last values, `curves` are lists of (step, value); times are UTC in ISO 8601."""

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal[1] = 1
    id: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern=r"^[0-9a-f]{32}$")
    kind: Kind
    name: str
    status: Status = "running"
    error: str | None = None
    started: str = Field(default_factory=lambda: now())
    ended: str | None = None
    parent: str | None = None
    parameters: dict[str, Scalar] = {}
    metrics: dict[str, float] = {}
    curves: dict[str, list[tuple[int, float]]] = {}
    tags: dict[str, str] = {}
    artifacts: list[str] = []
    environment: dict[str, str] = {}

    def digest(self) -> str:
        """SHA-256 of the content, so that a record is taken into MLflow once and again only if it changed."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


def now() -> str:
    """The present time in UTC, ISO 8601, whole milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def write_record(record: RunRecord, folder: Path) -> Path:
    """Write `folder/run.json` atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / FILE_NAME
    draft = target.with_suffix(".json.part")
    draft.write_text(json.dumps(record.model_dump(mode="json"), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    draft.replace(target)
    return target


def read_record(path: Path) -> RunRecord:
    """Read one record.

    Raises:
        InputError: the file is not a run record.
    """
    try:
        return RunRecord.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise InputError(
            f"{path} is not a run record: {describe(error)}; delete it or `dvc checkout` its folder"
        ) from None


def environment() -> dict[str, str]:
    """Versions of what a result depends on, and the kind of machine; nothing that names a host or a user."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {"python": platform.python_version(), "system": platform.system(), "machine": platform.machine(), **versions}


def context_tags(root: Path) -> dict[str, str]:
    """Tags that say which code and which stage a run came from: `git_commit`, `dvc_stage`, `dvc_exp_name` where known."""
    tags = {"git_commit": git_commit(root)}
    for tag, variable in (("dvc_stage", "DVC_STAGE"), ("dvc_exp_name", "DVC_EXP_NAME")):
        if value := os.environ.get(variable):
            tags[tag] = value
    return {name: value for name, value in tags.items() if value}


def git_commit(root: Path) -> str:
    """The commit that is checked out, with `-dirty` when tracked source differs from it; empty outside git."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=20
        ).stdout.strip()

    try:
        commit = git("rev-parse", "--short=12", "HEAD")
        return f"{commit}-dirty" if commit and git("status", "--porcelain", "--untracked-files=no", "src") else commit
    except (OSError, subprocess.TimeoutExpired):
        return ""


def dataset_revision(root: Path) -> str:
    """Twelve hex digits over the feature archives and manifests of a dataset root: equal means the same bytes."""
    total = hashlib.sha256()
    for path in sorted([*root.glob("pyg-features/*.tar.gz"), *root.glob("manifests/*.json")]):
        total.update(path.name.encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:12]


def device_name(fingerprint: Mapping[str, Any]) -> str:
    """A device fingerprint in a few words, for tags and tables."""
    processor = fingerprint.get("gpu") or fingerprint.get("processor") or {}
    name = str(processor.get("name") or "unknown device")
    threads = fingerprint.get("threads")
    return f"{name}, {threads} thread{'s' if threads != 1 else ''}" if threads else name
