"""`python -m nnirp.profiling CATALOG OUTPUT`: a campaign on a box that has torch, numpy and psutil and little else.

Exit codes: 0 everything was measured; 1 samples failed, or the budget ended first; 2 the input was refused.
"""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from nnirp.errors import InputError, NnirpError
from nnirp.profiling.campaign import run_campaign
from nnirp.profiling.settings import ProfileSettings

log = logging.getLogger("nnirp.profiling")


def parser() -> argparse.ArgumentParser:
    """The options; each setting that is not named here is given by --set."""
    found = argparse.ArgumentParser(prog="python -m nnirp.profiling", description=__doc__.splitlines()[0])
    found.add_argument("catalog", type=Path, help="manifests/catalog.json")
    found.add_argument("output", type=Path, help="folder of the archives, such as data-gpu/profiling")
    found.add_argument("--work", type=Path, help="folder that keeps progress; OUTPUT/../.work/profile by default")
    found.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    found.add_argument("--runtime", default="eager")
    found.add_argument("--threads", type=int, default=1)
    found.add_argument("--budget-minutes", type=float, help="stop after this long; the same command goes on")
    found.add_argument("--retry-failed", action="store_true", help="measure failed samples again")
    found.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="any other setting")
    found.add_argument("--json", action="store_true", help="write the summary to standard output as JSON")
    return found


def overrides(pairs: Sequence[str]) -> dict[str, object]:
    """`NAME=VALUE` arguments as settings; a value is JSON where it parses, else text."""
    found: dict[str, object] = {}
    for entry in pairs:
        name, equals, value = entry.partition("=")
        if not equals:
            raise InputError(f"--set {entry!r} is not NAME=VALUE; for example --set time_budget_s=1")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a campaign and return the exit code."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    options = parser().parse_args(arguments)
    try:
        chosen = {"device": options.device, "runtime": options.runtime, "threads": options.threads}
        settings = ProfileSettings.from_mapping({**chosen, **overrides(options.set)})
        if not options.catalog.is_file():
            raise InputError(
                f"{options.catalog} is missing; `dvc pull data/manifests`, or copy it from the project's data"
            )
        from nnirp.catalog import Catalog

        summary = run_campaign(
            Catalog.from_json(options.catalog),
            settings,
            options.output,
            options.work or options.output.parent / ".work" / "profile",
            budget_minutes=options.budget_minutes,
            on_progress=lambda done, total, note: log.info("%d of %d, %s", done, total, note),
            retry_failed=options.retry_failed,
        )
    except NnirpError as error:
        log.error("%s", error)
        return error.exit_code
    except KeyboardInterrupt:
        log.error("stopped; the same command goes on from here")
        return 1
    if options.json:
        sys.stdout.write(json.dumps(summary.to_dict(), indent=1) + "\n")
    log.info("%d of %d samples have a record: %s", summary.finished, summary.samples, summary.statuses)
    return 0 if summary.complete and not summary.failed else 1


if __name__ == "__main__":
    sys.exit(main())
