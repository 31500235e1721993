"""Settings of a measuring campaign, refused at once where they make no sense."""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from nnirp.errors import InputError

# What may differ between two sittings of one campaign without changing what is measured.
_NOT_MEANING = (
    "timeout_s",
    "memory_limit_gib",
    "hold_gib",
    "retest_fraction",
    "start_timeout_s",
    "max_attempts",
    "patience",
    "preload",
)


@dataclass(frozen=True)
class ProfileSettings:
    """How every sample of a campaign is measured; docs/profiling.md says why.

    Attributes:
        device: `cpu`, `cuda` or `cuda:N`.
        runtime: one of `nnirp.runtimes.names()`.
        threads: of one inference on the processor.
        cpu: the first core the worker is pinned to; `auto` is the last `threads` cores, `none` pins nothing.
        rounds: visits that a sample's time budget is spread over; in between, other samples are timed.
        interleave: samples that take turns, at most.
        processes: processes that these samples may lie in, at most.
        hold_gib: memory that their models may hold together; one is held in any case.
        min_repeats: good repeats at least, good being timed in a quiet moment.
        max_repeats: good repeats at most.
        time_budget_s: timed seconds a sample, once `min_repeats` are done.
        patience: share of `time_budget_s` that is added to it while good repeats are missing.
        floor_tolerance: repeats end early when three rounds came this close to the fastest repeat, as a share of it.
        warm_up_share: seconds of the first warm-up at most, as a share of the time budget.
        timeout_s: seconds until a sample is given up, building and compiling included.
        start_timeout_s: seconds until a worker has imported what it needs.
        memory_limit_gib: memory of a worker at most, beyond what it holds when it starts.
        retest_fraction: share of each family's samples that is measured twice, far apart in time.
        calibrate: time a fixed kernel between the visits.
        calibrate_every_s: seconds between two calibrations at least.
        drift_threshold: how much slower than the campaign's floor, as a share, a calibration makes a moment a bad one.
        contention_threshold: share of the worker's cores taken by others that makes a moment a bad one.
        max_attempts: sittings of a sample that lacks good repeats; their rounds are added up.
        sustained_s: seconds of the energy and utilisation pass, run where there is something to read.
        isolation: a fresh process a `configuration` or a `sample`.
        check_outputs: compare another runtime's outputs with eager's, once a set of weights.
        force_precision: measure bfloat16 on devices without bfloat16 instructions too.
        seed: of the order of configurations and of the retested samples.
        build: import string of `build(configuration, sample, device)`, which returns `.module` and `.inputs`.
        preload: modules imported once, before the workers are forked; those that are not installed are passed over.
    """

    device: str = "cpu"
    runtime: str = "eager"
    threads: int = 1
    cpu: str | int = "auto"
    rounds: int = 12
    interleave: int = 24
    processes: int = 16
    hold_gib: float = 6.0
    min_repeats: int = 5
    max_repeats: int = 300
    time_budget_s: float = 2.0
    patience: float = 1.0
    floor_tolerance: float = 0.01
    warm_up_share: float = 0.1
    timeout_s: float = 120.0
    start_timeout_s: float = 300.0
    memory_limit_gib: float = 12.0
    retest_fraction: float = 0.05
    calibrate: bool = True
    calibrate_every_s: float = 0.75
    drift_threshold: float = 0.1
    contention_threshold: float = 0.05
    max_attempts: int = 2
    sustained_s: float = 1.0
    isolation: str = "configuration"
    check_outputs: bool = True
    force_precision: bool = False
    seed: int = 0
    build: str = "nnirp.catalog:build"
    preload: tuple[str, ...] = ("timm", "torchvision", "transformers.modeling_utils")

    def __post_init__(self) -> None:
        def refuse(name: str, expected: str) -> None:
            raise InputError(
                f"profile.{name} is {getattr(self, name)!r}; expected {expected}; correct it and run again"
            )

        object.__setattr__(self, "preload", tuple(self.preload))  # a list where it comes from JSON
        if not re.fullmatch(r"cpu|cuda(:\d+)?", str(self.device)):
            refuse("device", "cpu, cuda or cuda:N")
        for name in ("threads", "rounds", "interleave", "processes", "min_repeats", "max_repeats", "max_attempts"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                refuse(name, "an integer of at least 1")
        if self.max_repeats < self.min_repeats:
            refuse("max_repeats", f"at least min_repeats ({self.min_repeats})")
        for name in ("time_budget_s", "timeout_s", "start_timeout_s", "memory_limit_gib", "hold_gib"):
            if not (_is_number(getattr(self, name)) and getattr(self, name) > 0):
                refuse(name, "a positive number")
        for name in ("retest_fraction", "warm_up_share"):
            if not (_is_number(getattr(self, name)) and 0 <= getattr(self, name) <= 1):
                refuse(name, "a share between 0 and 1")
        for name in (
            "drift_threshold",
            "contention_threshold",
            "sustained_s",
            "patience",
            "floor_tolerance",
            "calibrate_every_s",
        ):
            if not (_is_number(getattr(self, name)) and getattr(self, name) >= 0):
                refuse(name, "a number of at least 0")
        if self.isolation not in ("configuration", "sample"):
            refuse("isolation", "configuration or sample")
        if not (self.cpu in ("auto", "none") or (isinstance(self.cpu, int) and self.cpu >= 0)):
            refuse("cpu", "auto, none or the number of a core")
        if not re.fullmatch(r"[\w.]+:\w+", self.build):
            refuse("build", "an import string such as nnirp.catalog:build")
        if not all(isinstance(name, str) and re.fullmatch(r"[\w.]+", name) for name in self.preload):
            refuse("preload", "names of modules such as transformers")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> "ProfileSettings":
        """Settings from a mapping; the key `version` of `params.yaml` is the layer's, not a setting, and is passed over.

        Raises:
            InputError: a key is unknown or a value out of its range.
        """
        known = {entry.name for entry in fields(cls)}
        unknown = set(values) - known - {"version"}
        if unknown:
            raise InputError(
                f"profile.{min(unknown)} is not a known setting; expected one of {', '.join(sorted(known))}"
            )
        return cls(**{name: value for name, value in values.items() if name in known})

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {**asdict(self), "preload": list(self.preload)}

    def for_calibration(self) -> "ProfileSettings":
        """Settings of the process that runs the fixed kernels: they run in torch, whatever the runtime is."""
        return replace(self, runtime="eager")

    def meaning_digest(self) -> str:
        """Digest of the settings that decide what a number means; limits and shares of a sitting are left out."""
        kept = {name: value for name, value in self.to_dict().items() if name not in _NOT_MEANING}
        return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
