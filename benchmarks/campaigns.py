"""A part of the catalog measured as a campaign: what the benchmarks of the profiler share."""

import argparse
import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nnirp.catalog import Catalog, load_catalog
from nnirp.errors import NnirpError
from nnirp.profiling import CampaignSummary, ProfileSettings, run_campaign
from nnirp.project import find_project


def options(description: str, *, samples: int) -> argparse.ArgumentParser:
    """The options that the campaign benchmarks have in common."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path, help="keeps the progress: the same command goes on where it stopped")
    parser.add_argument("--samples", type=int, default=samples, help="taken evenly from every configuration")
    parser.add_argument("--minutes", type=float, help="stop after this long; all by default")
    parser.add_argument("--selection", choices=("starter", "full"), default="starter")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="any setting of the profiler")
    return parser


def spread(catalog: Catalog, count: int) -> Catalog:
    """At least `count` samples where there are as many: the same number of each configuration, evenly over its sizes and batches."""
    each = 1
    while sum(min(each, len(c.samples)) for c in catalog.configurations) < min(count, _samples(catalog)):
        each += 1
    return replace(
        catalog,
        configurations=tuple(replace(c, samples=tuple(_evenly(c.samples, each))) for c in catalog.configurations),
    )


def _samples(catalog: Catalog) -> int:
    return sum(len(c.samples) for c in catalog.configurations)


def _evenly(samples: Iterable[Any], count: int) -> list[Any]:
    ordered = sorted(samples, key=lambda sample: (sample.batch * sample.size, sample.name))
    if len(ordered) <= count:
        return ordered
    return [ordered[round(i * (len(ordered) - 1) / max(count - 1, 1))] for i in range(count)]


def measure(arguments: argparse.Namespace, **changes: Any) -> CampaignSummary:
    """Run or go on with the campaign of these options, with the settings of `params.yaml` changed as said.

    Raises:
        SystemExit: the input was refused, or nothing could be measured.
    """
    from nnirp.profiling.__main__ import overrides

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    log = logging.getLogger("benchmark")
    try:
        given = find_project().parameters.profile.model_dump() | changes | overrides(arguments.set)
        return run_campaign(
            spread(load_catalog(arguments.selection), arguments.samples),
            ProfileSettings.from_mapping(given),
            arguments.folder / "profiling",
            arguments.folder / "work",
            budget_minutes=arguments.minutes,
            on_progress=lambda done, total, note: log.info("%d of %d, %s", done, total, note),
        )
    except NnirpError as error:
        raise SystemExit(str(error)) from None
