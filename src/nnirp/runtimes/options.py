"""Options of a runtime that are chosen from outside: the optimisation level of a compiler's settings file.

They travel in the environment of the measuring process, as its number of threads does.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nnirp.errors import InputError

VARIABLE = "NNIRP_RUNTIME_OPTIONS"


def options(runtime: str, **defaults: Any) -> dict[str, Any]:
    """The defaults, and what was chosen in their place.

    Raises:
        InputError: an option was chosen that the runtime does not have.
    """
    chosen = json.loads(os.environ.get(VARIABLE) or "{}")
    if unknown := sorted(set(chosen) - set(defaults)):
        raise InputError(
            f"runtime {runtime} has no option {unknown[0]!r}; expected one of {', '.join(defaults) or 'none'}; "
            f"correct the settings file of the compiler"
        )
    return defaults | chosen


@contextmanager
def choosing(chosen: Mapping[str, Any]) -> Iterator[None]:
    """Give options to the processes that are started inside the block."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = json.dumps(dict(chosen))
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
