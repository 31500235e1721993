"""Archives and manifests of a published dataset, downloaded from a Hugging Face dataset repository.

The hub's client finds the files and speaks HTTP; where a download goes on after a kill, and that what arrived is what the
repository records, is decided here: recent versions of the client begin a file anew in every process and compare sizes only.
"""

import hashlib
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnirp.errors import InputError, MissingDependencyError, NnirpError

log = logging.getLogger(__name__)
LAYERS = ("onnx-graphs", "profiling", "pyg-features")
PARTIAL = Path(".work") / "fetch"
"""Where unfinished files lie below a dataset root, named by their digest."""
_WANTED = re.compile(rf"(?P<layer>{'|'.join(LAYERS)})/(?P<id>\d+)\.tar\.gz|manifests/[\w-]+\.json")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class RemoteFile:
    """A file of the repository: its path, size in bytes, and digest (SHA-256, or git's SHA-1 of a small file)."""

    path: str
    size: int
    digest: str

    @property
    def layer(self) -> str | None:
        return _WANTED.fullmatch(self.path)["layer"]

    @property
    def configuration(self) -> int | None:
        number = _WANTED.fullmatch(self.path)["id"]
        return None if number is None else int(number)


@dataclass(frozen=True)
class Fetched:
    """What a download did: the commit it is of, the files that are now whole, and the bytes that came over the network."""

    repository: str
    commit: str
    files: tuple[str, ...]
    downloaded_bytes: int


def fetch(
    repository: str,
    output: Path,
    *,
    layers: Sequence[str] = (),
    ids: Sequence[int] = (),
    revision: str = "main",
    endpoint: str | None = None,
    on_progress: Callable[..., None] = lambda *_: None,
) -> Fetched:
    """Bring archives of a dataset repository, and always its manifests, into a dataset root.

    A file that is there with the right digest is left alone; an unfinished one goes on where it stopped.

    Args:
        repository: `owner/name` of a dataset on the hub.
        output: the dataset root to fill.
        layers: of `onnx-graphs`, `profiling`, `pyg-features`; all where empty.
        ids: source configurations; all where empty.
        revision: branch, tag or commit; files of one commit are taken, the one it names when the download begins.
        endpoint: address of the hub; `HF_ENDPOINT` or the public hub where None.
        on_progress: called with bytes that are whole, bytes in all, and the file's path.

    Raises:
        InputError: the repository, the revision, a layer or an id does not exist, or the repository may not be read.
        MissingDependencyError: `huggingface_hub` is not installed.
        NnirpError: the network fails, the disk is too small, or a file is not what the repository records.
    """
    unknown = sorted(set(layers) - set(LAYERS))
    if unknown:
        raise InputError(f"no layer is named {unknown[0]!r}; choose from: {', '.join(LAYERS)}")
    endpoint = (endpoint or os.environ.get("HF_ENDPOINT") or "").rstrip("/") or None
    output = Path(output)
    commit, files = _listing(repository, revision, endpoint)
    chosen = select(files, layers, ids, f"{repository} at {revision}")
    left = [file for file in chosen if not _is_whole(output / file.path, file)]
    _check_space(output, left)
    total = sum(file.size for file in chosen)
    done = total - sum(file.size for file in left)
    on_progress(done, total, f"{len(chosen) - len(left)} of {len(chosen)} files are there")
    downloaded = 0
    with _alone(output):
        for file in left:
            downloaded += _download(repository, commit, file, output, endpoint)
            done += file.size
            on_progress(done, total, file.path)
        shutil.rmtree(output / PARTIAL, ignore_errors=True)
    return Fetched(repository, commit, tuple(file.path for file in chosen), downloaded)


def select(files: Iterable[RemoteFile], layers: Sequence[str], ids: Sequence[int], where: str) -> list[RemoteFile]:
    """The manifests and the archives that were asked for, small files first.

    Raises:
        InputError: the repository has no archive of a layer, or none of an id in any of the layers.
    """
    files = list(files)
    archives = [file for file in files if file.layer and (not layers or file.layer in layers)]
    present = {file.layer for file in archives}
    absent = [layer for layer in layers if layer not in present]
    if absent or not archives:
        held = sorted({file.layer for file in files if file.layer})
        raise InputError(
            f"{where} has no archive of {', '.join(absent or LAYERS)}; it holds {', '.join(held) or 'none'}"
        )
    known = {file.configuration for file in archives}
    missing = sorted(set(ids) - known)
    if missing:
        listed = ", ".join(map(str, sorted(known)[:8])) + (" …" if len(known) > 8 else "")
        raise InputError(f"{where} has no archive of configuration {missing[0]}; it has {len(known)}: {listed}")
    for layer in sorted(present):
        lacking = sorted(set(ids) - {file.configuration for file in archives if file.layer == layer})
        if lacking:
            log.info("%s has no %s of configuration %s", where, layer, ", ".join(map(str, lacking)))
    chosen = [file for file in archives if not ids or file.configuration in ids]
    return sorted([file for file in files if not file.layer] + chosen, key=lambda file: (file.size, file.path))


def _listing(repository: str, revision: str, endpoint: str | None) -> tuple[str, list[RemoteFile]]:
    """The commit of a revision and its files that belong to a dataset root; other files of the repository are not looked at."""
    hub = _hub()
    with _plain_errors(repository, revision, endpoint):
        api = hub.HfApi(endpoint=endpoint)
        commit = api.repo_info(repository, repo_type="dataset", revision=revision, timeout=20).sha
        tree = list(api.list_repo_tree(repository, repo_type="dataset", revision=commit, recursive=True))
    files = []
    for entry in tree:
        if isinstance(entry, hub.hf_api.RepoFile) and _WANTED.fullmatch(entry.path):
            files.append(RemoteFile(entry.path, entry.size, entry.lfs.sha256 if entry.lfs else entry.blob_id))
    return commit, files


def _download(repository: str, commit: str, file: RemoteFile, output: Path, endpoint: str | None) -> int:
    """Bring one file and compare its digest; the number of bytes that were transferred."""
    hub = _hub()
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import build_hf_headers, disable_progress_bars

    target, partial = output / file.path, output / PARTIAL / f"{file.digest}.part"
    partial.parent.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    if partial.is_file() and partial.stat().st_size > file.size:
        partial.unlink()
    have = partial.stat().st_size if partial.is_file() else 0
    url = hub.hf_hub_url(repository, file.path, repo_type="dataset", revision=commit, endpoint=endpoint)
    headers = build_hf_headers() | {"Accept-Encoding": "identity"}  # positions in a packed stream mean nothing
    disable_progress_bars("huggingface_hub.http_get")  # there is one bar for the whole download
    with _plain_errors(repository, commit, endpoint, file.path), partial.open("ab", buffering=0) as stream:
        http_get(url, stream, resume_size=have, headers=headers, expected_size=file.size)
    if not _is_whole(partial, file):
        partial.unlink()
        raise NnirpError(
            f"{file.path} of {repository} is not the file that the repository records ({file.digest[:12]}); "
            "what arrived was deleted, run the same command again"
        )
    partial.replace(target)
    return file.size - have


def _is_whole(path: Path, file: RemoteFile) -> bool:
    """Whether a file is there in its size and digest."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    if len(file.digest) == 64:
        digest = hashlib.sha256()
    else:  # git's name of a blob, https://git-scm.com/book/en/v2/Git-Internals-Git-Objects
        digest = hashlib.sha1(f"blob {file.size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == file.digest


def _check_space(output: Path, files: Sequence[RemoteFile]) -> None:
    needed = sum(file.size for file in files)
    folder = next(path for path in (output.resolve(), *output.resolve().parents) if path.is_dir())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise NnirpError(
            f"{needed / 1e9:.1f} GB are left to download, {folder} has {free / 1e9:.1f} GB free; "
            "choose less with --layer or --id, or another --output"
        )


@contextmanager
def _alone(output: Path) -> Iterator[None]:
    """Two downloads into one root would append to the same unfinished file."""
    from filelock import FileLock, Timeout

    (output / PARTIAL.parent).mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(output / PARTIAL.parent / "fetch.lock", timeout=0):
            yield
    except Timeout:
        raise NnirpError(
            f"another download into {output} is running; wait for it, or choose another --output"
        ) from None


@contextmanager
def _plain_errors(repository: str, revision: str, endpoint: str | None, path: str = "") -> Iterator[None]:
    """What the hub's client raises, as one line that says what to do."""
    from huggingface_hub import errors, get_token

    where = f"dataset {repository}" + (f", {path}" if path else "")
    try:
        yield
    except errors.HFValidationError:
        raise InputError(f"{repository!r} is no repository name; expected owner/name") from None
    except errors.GatedRepoError:
        raise InputError(f"{where} is open to approved users only; ask for access on its page, then log in") from None
    except errors.RepositoryNotFoundError:
        state = "the token that is set may not read it" if get_token() else "no token is set"
        raise InputError(
            f"{where} does not exist, or is private and {state}; check the name, or run `hf auth login`"
        ) from None
    except errors.RevisionNotFoundError:
        raise InputError(f"{where} has no revision {revision!r}; leave --revision out for its main branch") from None
    except NnirpError:
        raise
    except Exception as error:  # two HTTP libraries, by version of the client, each with its own kinds
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise NnirpError(
            f"{where}: {endpoint or 'the hub'} did not answer ({type(error).__name__}: {reason}); "
            "what arrived is kept, check the network or HF_ENDPOINT and run the same command again"
        ) from None


def _hub() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.hf_api
    except ModuleNotFoundError:
        raise MissingDependencyError("downloading needs huggingface_hub; `pip install 'nnirp[hub]'`") from None
    return huggingface_hub
