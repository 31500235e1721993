"""`nnirp doctor` and `nnirp verify`: is this installation able, is this dataset whole."""

import importlib.util
import os
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.output import emit_json, emit_table
from nnirp.errors import NnirpError
from nnirp.project import find_project


@dataclass(frozen=True)
class Finding:
    """One line of the check-up; `remedy` is empty where nothing needs doing."""

    what: str
    state: str
    remedy: str = ""


EXTRAS = {
    "models": ("timm", "torchvision", "transformers"),
    "graphs": ("onnx", "onnxscript", "onnxruntime"),
    "train": ("torch_geometric", "lightning", "lightgbm", "optuna", "pandas", "safetensors"),
    "mlops": ("dvc", "mlflow", "matplotlib", "rich"),
    "hub": ("huggingface_hub",),
    "gpu": ("pynvml",),
}


def register(app: typer.Typer) -> None:
    app.command()(doctor)
    app.command()(verify)


def doctor(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Say what this installation can do, and what to run for the rest."""
    found = [*packages(), *runtimes(), *machine(), *layers(context.obj)]
    if json:
        emit_json([asdict(finding) for finding in found])
    else:
        emit_table("nnirp doctor", ("what", "state", "to do"), [(f.what, f.state, f.remedy) for f in found])


def packages() -> list[Finding]:
    """Extras, complete or not."""
    found = [Finding("python", sys.version.split()[0])]
    for extra, modules in EXTRAS.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        state = f"missing {', '.join(missing)}" if missing else "installed"
        found.append(Finding(f"extra {extra}", state, f"pip install 'nnirp[{extra}]'" if missing else ""))
    return found


def runtimes() -> list[Finding]:
    """Runtimes of the profiler, available or with the line that installs them."""
    from nnirp.runtimes import availability

    return [
        Finding(f"runtime {name}", "available" if able else "not available", "" if able else reason)
        for name, (able, reason) in availability().items()
    ]


def machine() -> list[Finding]:
    """What decides how far a measurement on this machine can be trusted."""
    import psutil

    load = os.getloadavg()[0]
    busy = load > 0.5 * (os.cpu_count() or 1)
    found = [
        Finding("cores", str(os.cpu_count())),
        Finding(
            "memory",
            f"{psutil.virtual_memory().available / 2**30:.1f} of {psutil.virtual_memory().total / 2**30:.1f} GiB free",
        ),
        Finding("load", f"{load:.2f}", "end other programs before a campaign" if busy else ""),
    ]
    policy = os.environ.get("OMP_WAIT_POLICY", "unset")
    found.append(
        Finding("OMP_WAIT_POLICY", policy, "" if policy.upper() == "PASSIVE" else "export OMP_WAIT_POLICY=PASSIVE")
    )
    found.append(Finding("NVIDIA driver", "present" if shutil.which("nvidia-smi") else "absent: no GPU measurements"))
    return found


def layers(project: Path | None) -> list[Finding]:
    """Layers of the project around the current folder, present or to be pulled."""
    from nnirp.errors import InputError

    try:
        data = find_project(project).data
    except InputError:
        return [Finding("project", "none around this folder", "cd into a clone, or pass --project")]
    found = []
    for name in ("manifests", "onnx-graphs", "profiling", "pyg-features", "splits"):
        count = sum(1 for path in (data / name).rglob("*") if path.is_file())
        found.append(
            Finding(f"layer {name}", f"{count} files" if count else "absent", "" if count else f"dvc pull data/{name}")
        )
    return found


def verify(
    context: typer.Context,
    root: Annotated[Path | None, typer.Argument(help="A dataset root; the project's `data` by default.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Check a dataset root: schema, counts, hashes, shapes, labels, one device. Exit code 1 when something is wrong."""
    from nnirp.layers.verify import verify as check

    root = root or find_project(context.obj).data
    problems = check(root)
    if json:
        emit_json({"root": str(root), "problems": [asdict(problem) for problem in problems]})
    else:
        for problem in problems:
            typer.echo(f"{problem.where}: {problem.what}")
        if not problems:
            typer.echo(f"{root}: no problem found")
    if problems:
        raise NnirpError(
            f"{len(problems)} problems in {root}; `dvc checkout` restores published files, `dvc repro` makes the rest again"
        )
