"""Runs in a process of its own with 4 GiB of address space: asks about each file named, and writes one JSON line about each.

python hostile.py FILE…
"""

import json
import resource
import signal
import sys
import time
from pathlib import Path

MEMORY_BYTES = 4 << 30
SECONDS = 60


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    from nnirp.errors import NnirpError
    from nnirp.graphs.frontends import Asked, read_model
    from nnirp.prediction.encoding import encode_model
    from nnirp.prediction.mig.advice import advise
    from nnirp.prediction.mig.table import GPUS

    for path in map(Path, sys.argv[1:]):
        signal.setitimer(
            signal.ITIMER_PROF, SECONDS
        )  # of processor time, whatever else the machine does; ends the process
        started = time.process_time()
        try:
            encoded = encode_model(read_model(path, Asked(batch=None)))
            outcome = advise(path.name, encoded, GPUS["A100-40GB"]).summary
        except NnirpError as error:
            outcome = f"refused: {error}"
        sys.stdout.write(json.dumps([path.name, time.process_time() - started, outcome]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
