"""In which order a campaign measures, and which samples it measures twice."""

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nnirp.profiling.journal import MAIN, RETEST
from nnirp.profiling.settings import ProfileSettings


@dataclass(frozen=True, eq=False)
class Task:
    """One sample to be measured, for the layer (`records`) or for the noise floor (`retest`)."""

    kind: str
    configuration: Any
    sample: Any


def schedule(configurations: Sequence[Any], settings: ProfileSettings) -> list[Task]:
    """All tasks of a campaign in order.

    Configurations are shuffled, so that slow drift of the machine is not mistaken for a property of a family and a
    campaign that stops early has seen all of them alike. A retested sample of the first half is measured again after
    everything else, one of the second half before everything else: half a campaign lies between any two measurements.
    """
    order = list(configurations)
    random.Random(settings.seed).shuffle(order)
    main = [Task(MAIN, c, s) for c in order for s in by_weights(c.samples)]
    chosen = retested(configurations, settings)
    twice = [(position, task) for position, task in enumerate(main) if task.sample.name in chosen]
    early = [Task(RETEST, t.configuration, t.sample) for position, t in twice if position >= len(main) / 2]
    late = [Task(RETEST, t.configuration, t.sample) for position, t in twice if position < len(main) / 2]
    return [*early, *main, *late]


def by_weights(samples: Sequence[Any]) -> list[Any]:
    """Samples with those that share a set of weights next to each other, the smallest batch first."""

    def key(sample: Any) -> tuple:
        return json.dumps(sample.arguments, sort_keys=True), sample.size, sample.precision, sample.mode, sample.batch

    return sorted(samples, key=key)


def retested(configurations: Sequence[Any], settings: ProfileSettings) -> set[str]:
    """Names of the samples measured twice: a random share of each family, at least one of it."""
    by_family: dict[str, list[str]] = defaultdict(list)
    for configuration in configurations:
        by_family[configuration.family] += [sample.name for sample in configuration.samples]
    chosen: set[str] = set()
    if settings.retest_fraction:
        for family, names in sorted(by_family.items()):
            count = min(len(names), max(1, round(settings.retest_fraction * len(names))))
            chosen.update(random.Random(f"{settings.seed}-{family}").sample(sorted(names), count))
    return chosen


def process_key(task: Task, isolation: str) -> tuple[str, Any]:
    """Tasks with the same key share a process: those of one kind and configuration, or each its own."""
    return task.kind, task.configuration.id if isolation == "configuration" else task.sample.name
