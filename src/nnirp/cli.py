"""The `nnirp` command: one line an error, and exit codes a script can trust.

Exit codes: 0 done; 1 an operation failed (the message says what to do); 2 the input or the arguments were refused and
nothing was written; 130 interrupted.
"""

import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from nnirp import __version__
from nnirp.commands import (
    compilers,
    data,
    doctor,
    explore,
    fetching,
    importing,
    learn,
    mig,
    predict,
    score,
    serve,
    split,
    tracking,
)
from nnirp.errors import InputError, NnirpError

app = typer.Typer(
    name="nnirp",
    help="Predict how long a neural network runs and how much memory it needs, without running it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (
    data,
    fetching,
    importing,
    split,
    learn,
    score,
    predict,
    mig,
    explore,
    serve,
    compilers,
    tracking,
    doctor,
):
    module.register(app)


def _version(show: bool) -> None:
    if show:
        typer.echo(__version__)
        raise typer.Exit()


@app.callback()
def options(
    context: typer.Context,
    project: Annotated[
        Path | None, typer.Option(help="A clone of the project; the one around the current folder by default.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log more, and show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of every command."""
    configure_logging(verbose)
    if project is not None and not (project / "dvc.yaml").is_file():
        raise InputError(
            f"--project {project} is no clone of the project (no dvc.yaml in it); name the folder that `git clone` made"
        )
    context.obj = project


def configure_logging(verbose: bool) -> None:
    """Log lines on standard error: time and message, so that a long stage can be followed in a file."""
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr, force=True
    )
    logging.getLogger("nnirp").setLevel(logging.DEBUG if verbose else logging.INFO)
    if not verbose:  # libraries announce their own future changes; a user of this command can do nothing about them
        warnings.simplefilter("ignore")
        os.environ.setdefault("PYTHONWARNINGS", "ignore")  # nor in worker processes


def main() -> None:
    """Entry point of the command."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: spinning threads take the other core
    sys.exit(guarded(app))


def guarded(action) -> int:
    """Call `action` and turn what it raises into one line on standard error and an exit code."""
    try:
        action()
    except NnirpError as error:
        if "-v" in sys.argv or "--verbose" in sys.argv:
            logging.getLogger(__name__).exception("refused")
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was finished is kept, the same command goes on from there\n")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0


if __name__ == "__main__":
    main()
