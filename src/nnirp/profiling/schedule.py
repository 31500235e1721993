"""In which order a campaign measures, and which samples it measures twice."""

import itertools
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nnirp.profiling.journal import MAIN, RETEST
from nnirp.profiling.settings import ProfileSettings

LARGE_SET = 8
"""Samples of one set of weights from which on the largest batch is measured last of all."""


@dataclass(frozen=True, eq=False)
class Task:
    """One sample to be measured, for the layer (`records`) or for the noise floor (`retest`), in a numbered `part` of a campaign."""

    kind: str
    configuration: Any
    sample: Any
    part: int = 0


def schedule(configurations: Sequence[Any], settings: ProfileSettings) -> list[Task]:
    """All tasks of a campaign in order.

    The first part measures every other set of weights of each configuration, the second part the others, and each shuffles the
    configurations: slow drift of the machine is not mistaken for a property of a family, and a campaign that stops early has seen
    every configuration. The last part is the largest batch of every large set of weights: few samples that take long.

    A retested sample of the first part is measured again after the second, one of the second part before the first: half a campaign
    lies between any two measurements. Those of the last part are measured once.
    """
    parts: list[list[Task]] = [
        [
            Task(MAIN, configuration, sample, number)
            for configuration in _shuffled(configurations, f"{settings.seed}-{number}")
            for sample in parts_of(configuration.samples)[number]
        ]
        for number in range(3)
    ]
    main = [*parts[0], *parts[1]]
    chosen = retested(configurations, settings)
    twice = [(position, task) for position, task in enumerate(main) if task.sample.name in chosen]
    early = [Task(RETEST, t.configuration, t.sample) for position, t in twice if position >= len(main) / 2]
    late = [Task(RETEST, t.configuration, t.sample, 1) for position, t in twice if position < len(main) / 2]
    return [*early, *main, *late, *parts[2]]


def parts_of(samples: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The samples of one configuration by the part of the campaign that measures them."""
    parts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for number, (_, members) in enumerate(itertools.groupby(by_weights(samples), key=_weights)):
        smaller = list(members)
        if len(smaller) >= LARGE_SET:
            parts[2].append(smaller.pop())
        parts[number % 2].extend(smaller)
    return parts


def by_weights(samples: Sequence[Any]) -> list[Any]:
    """Samples with those that share a set of weights next to each other, the smallest batch first."""
    return sorted(samples, key=lambda sample: (*_weights(sample), sample.batch))


def _weights(sample: Any) -> tuple:
    return json.dumps(sample.arguments, sort_keys=True), sample.size, sample.precision, sample.mode


def _shuffled(configurations: Sequence[Any], seed: str) -> list[Any]:
    order = list(configurations)
    random.Random(seed).shuffle(order)
    return order


def retested(configurations: Sequence[Any], settings: ProfileSettings) -> set[str]:
    """Names of the samples measured twice: a random share of each family, at least one of it."""
    by_family: dict[str, list[str]] = defaultdict(list)
    for configuration in configurations:
        first, second, _last = parts_of(configuration.samples)
        by_family[configuration.family] += [sample.name for sample in (*first, *second)]
    chosen: set[str] = set()
    if settings.retest_fraction:
        for family, names in sorted(by_family.items()):
            count = min(len(names), max(1, round(settings.retest_fraction * len(names))))
            chosen.update(random.Random(f"{settings.seed}-{family}").sample(sorted(names), count))
    return chosen


def process_key(task: Task, isolation: str) -> tuple[str, int, Any]:
    """Tasks with the same key share a process: those of one kind, part and configuration, or each its own."""
    return task.kind, task.part, task.configuration.id if isolation == "configuration" else task.sample.name
