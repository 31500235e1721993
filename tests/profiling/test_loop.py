import itertools

import pytest

from nnirp.profiling import loop


def clock_of(times):
    source = iter(times)
    return lambda call: next(source)


def test_warm_up_ends_when_two_calls_agree():
    assert loop.warm_up(None, clock_of([30.0, 20.0, 11.0, 10.9, 5.0]), 10.0) == ([30.0, 20.0, 11.0, 10.9], True)


def test_warm_up_ends_with_its_budget():
    assert loop.warm_up(None, clock_of([900.0, 100.0]), 0.5) == ([900.0], False)


def visit(times, usual_ms, **changes):
    return loop.visit(None, clock_of(times), **{"budget_s": 0.1, "most": 20, "usual_ms": usual_ms, **changes})


def test_a_visit_refills_the_caches_and_then_times_calls_for_its_budget():
    found = visit(itertools.repeat(4.0), 4.0)
    assert found.warm_up_ms == (4.0, 4.0, 4.0)
    assert len(found.times_ms) == 20
    assert len(visit(itertools.repeat(4.0), 4.0, most=99).times_ms) == 25


def test_a_long_call_is_timed_at_once_and_once():
    assert visit([900.0], 900.0) == loop.Visit((), (900.0,))


class Event:
    log: list = []  # noqa: RUF012

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.log.append("record")

    def synchronize(self):
        self.log.append("synchronise")

    def elapsed_time(self, other):
        return 1.25


def test_cuda_clock_records_calls_records_and_waits_once():
    Event.log.clear()
    cuda = type("Cuda", (), {"Event": Event})
    assert loop.cuda_event_clock(cuda)(lambda: Event.log.append("call")) == 1.25
    assert Event.log == ["record", "call", "record", "synchronise"]


def test_host_clock_costs_microseconds():
    assert loop.overhead_ms(loop.host_clock) < 0.5


def test_sustained_runs_for_the_time_and_looks_between_calls():
    looks = []
    count, seconds = loop.sustained(lambda: None, loop.host_clock, 0.01, lambda: looks.append(1))
    assert count == len(looks) > 0
    assert seconds >= 0.01


@pytest.mark.cuda
def test_cuda_events_agree_with_the_host_clock():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    a = torch.rand(4096, 4096, device="cuda")

    def call():
        return a @ a

    def blocking():
        call()
        torch.cuda.synchronize()

    call()
    events = min(loop.clock_for("cuda_events")(call) for _ in range(10))
    host = min(loop.host_clock(blocking) for _ in range(10))
    assert events == pytest.approx(host, rel=0.1)
