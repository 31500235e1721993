"""The timing loop: warm up until steady, then repeat until the median is known well enough or the time is spent."""

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nnirp.profiling.settings import ProfileSettings
from nnirp.profiling.statistics import median_interval, relative_half_width

STEADY_SPREAD = 0.05  # the last two warm-up calls differ by less than this
MAX_WARM_UPS = 50
Clock = Callable[[Callable[[], Any]], float]


@dataclass(frozen=True)
class Timing:
    """Times of one sample, in milliseconds and in the order they were taken."""

    warm_up_ms: tuple[float, ...]
    times_ms: tuple[float, ...]
    steady: bool
    stopped_by: str  # precision | time_budget | max_repeats
    relative_half_width: float
    interval_ms: tuple[float, float]


def host_clock(call: Callable[[], Any]) -> float:
    """Milliseconds of one call on the host; the output is freed after the clock is read."""
    started = time.perf_counter_ns()
    result = call()
    elapsed = time.perf_counter_ns() - started
    del result
    return elapsed / 1e6


def cuda_event_clock(cuda: Any) -> Clock:
    """A clock that brackets a call with CUDA events and waits for the second one, once a call.

    The stream is idle when the first event is recorded, so the time is that of one inference from launch to the end of
    its last kernel.

    Args:
        cuda: `torch.cuda`, or what answers like it.
    """

    def clock(call: Callable[[], Any]) -> float:
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        start.record()
        result = call()
        end.record()
        end.synchronize()
        elapsed = start.elapsed_time(end)
        del result
        return float(elapsed)

    return clock


def clock_for(synchronise: str) -> Clock:
    """The clock that goes with a runtime's synchronisation rule."""
    if synchronise == "cuda_events":
        import torch

        return cuda_event_clock(torch.cuda)
    return host_clock


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python's garbage collector out of the timed region."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def warm_up(call: Callable[[], Any], clock: Clock, budget_s: float) -> tuple[list[float], bool]:
    """Call until two calls in a row take the same time, within 5 %, or the budget is spent. At least one call.

    Returns:
        The times in milliseconds, and whether the model was steady at the end.
    """
    times: list[float] = []
    spent = 0.0
    while len(times) < MAX_WARM_UPS:
        times.append(clock(call))
        spent += times[-1] / 1e3
        last = times[-2:]
        if len(last) == 2 and max(last) <= min(last) * (1 + STEADY_SPREAD):
            return times, True
        if spent >= budget_s:
            break
    return times, False


def measure(call: Callable[[], Any], clock: Clock, settings: ProfileSettings) -> Timing:
    """Warm up and time one prepared model.

    Repeats end when the confidence interval of the median is narrower than `target_relative_half_width` either side,
    or after `time_budget_s`, or at `max_repeats`; never before `min_repeats`.
    """
    with no_collection():
        warm, steady = warm_up(call, clock, settings.warm_up_share * settings.time_budget_s)
        times: list[float] = []
        spent, stopped_by, width = 0.0, "max_repeats", math.inf
        check_at = settings.min_repeats
        while len(times) < settings.max_repeats:
            times.append(clock(call))
            spent += times[-1] / 1e3
            if len(times) < settings.min_repeats:
                continue
            if len(times) >= check_at:
                check_at = len(times) + max(1, len(times) // 20)  # sorting at every repeat would show on tiny models
                width = relative_half_width(times, settings.confidence)
                if width <= settings.target_relative_half_width:
                    stopped_by = "precision"
                    break
            if spent >= settings.time_budget_s:
                stopped_by = "time_budget"
                break
    return Timing(
        tuple(warm),
        tuple(times),
        steady,
        stopped_by,
        relative_half_width(times, settings.confidence),
        median_interval(times, settings.confidence),
    )


def sustained(call: Callable[[], Any], clock: Clock, seconds: float, between: Callable[[], None]) -> tuple[int, float]:
    """Call back to back for at least `seconds`, with `between()` after each call.

    Returns:
        The number of calls and the wall seconds they took.
    """
    calls, started = 0, time.perf_counter()
    while True:
        clock(call)
        between()
        calls += 1
        elapsed = time.perf_counter() - started
        if elapsed >= seconds:
            return calls, elapsed


def overhead_ms(clock: Clock, repeats: int = 51) -> float:
    """Median time the clock itself reports for a call that does nothing, in milliseconds."""
    return sorted(clock(_nothing) for _ in range(repeats))[repeats // 2]


def _nothing() -> None:
    return None
