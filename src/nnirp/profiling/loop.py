"""The timing loop: warm up until steady, then timed calls in visits far apart, so that one bad moment never holds them all."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

STEADY_SPREAD = 0.05  # the last two warm-up calls differ by less than this
MAX_WARM_UPS = 50
REFILL_MS = 10.0  # a visit's warm-up: what other models pushed out of the caches (32 MiB at 10 GB/s is 3 ms) comes back
LONG_CALL_MS = 40.0  # a call this long refills the caches itself, and loses less than the noise by it
Clock = Callable[[Callable[[], Any]], float]


@dataclass(frozen=True)
class Visit:
    """Times of one visit to a sample, in milliseconds and in the order they were taken."""

    warm_up_ms: tuple[float, ...]
    times_ms: tuple[float, ...]


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
    its last kernel. Not run on a GPU yet.

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
    """Keep Python's garbage collector out of the timed region; what there is to collect stays until it is left."""
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


def visit(call: Callable[[], Any], clock: Clock, *, budget_s: float, most: int, usual_ms: float) -> Visit:
    """Time calls for `budget_s` seconds, at least one and at most `most` of them, after a short warm-up.

    Args:
        call: runs one inference.
        clock: times it.
        budget_s: seconds; a call is begun while less than half a call is missing to it.
        most: repeats at most.
        usual_ms: what a call took before; long calls get no warm-up.
    """
    with no_collection():
        warm: list[float] = []
        while usual_ms < LONG_CALL_MS and sum(warm) < REFILL_MS and len(warm) < MAX_WARM_UPS:
            warm.append(clock(call))
        times: list[float] = []
        spent = 0.0
        while len(times) < most:
            times.append(clock(call))
            spent += times[-1] / 1e3
            if spent + usual_ms / 2e3 >= budget_s:
                break
    return Visit(tuple(warm), tuple(times))


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
