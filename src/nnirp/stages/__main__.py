"""`python -m nnirp.stages NAME [ARGUMENT…]`: what `dvc.yaml` calls."""

import importlib
import os
import sys

from nnirp.cli import configure_logging, guarded
from nnirp.errors import InputError
from nnirp.project import find_project

STAGES = (
    "parameters",
    "catalog",
    "export",
    "cluster",
    "profile",
    "encode",
    "describe",
    "split",
    "train",
    "champion",
    "evaluate",
    "compilers",
    "report",
)


def run_stage() -> None:
    """Run the stage that the command line names."""
    name, *arguments = sys.argv[1:] or [""]
    if name not in STAGES:
        raise InputError(f"{name!r} is not a stage; expected one of {', '.join(STAGES)}")
    importlib.import_module(f"nnirp.stages.{name}").run(find_project(), *arguments)


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    configure_logging(verbose=False)
    sys.exit(guarded(run_stage))
