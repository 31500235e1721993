from types import SimpleNamespace

import pytest

from nnirp.compilers.measuring import WarmCrew
from nnirp.errors import InputError, NnirpError
from nnirp.profiling.crew import Crew, SampleFailed

TASK = SimpleNamespace(sample=SimpleNamespace(name="a"))


@pytest.fixture
def crew(monkeypatch):
    crew = WarmCrew(SimpleNamespace(time_budget_s=2.0), None, lambda _: None)
    record = {"_meta": {"warm_up_ms": [9.0], "seconds": {"prepare": 0.0}}}
    monkeypatch.setattr(Crew, "prepare", lambda self, task: record)
    monkeypatch.setattr(
        crew, "ask", lambda task, request: {"round": {"warm_up_ms": [8.0], "times_ms": [7.0, 7.0], "asked": request}}
    )
    return crew


def test_warm_ups_are_counted_and_no_repeats(crew):
    crew.warm_ups = 10
    assert crew.prepare(TASK)["_meta"]["warm_up_ms"] == [9.0, 8.0, 7.0, 7.0]
    crew.warm_ups = 0
    assert len(crew.prepare(TASK)["_meta"]["warm_up_ms"]) == 4  # nothing was added


def test_a_compiler_that_crashes_while_its_process_starts_fails_its_run_and_no_sweep(crew, monkeypatch):
    def crash(self, task):
        raise NnirpError("the measuring process did not start (killed by signal 11: …); see /tmp/worker.log")

    monkeypatch.setattr(Crew, "prepare", crash)
    with pytest.raises(SampleFailed, match="killed by signal 11") as failure:
        crew.prepare(TASK)
    assert failure.value.status == "crash" and "/tmp" not in failure.value.error


def test_another_machine_ends_the_sweep(crew, monkeypatch):
    def refuse(self, task):
        raise InputError("another machine")

    monkeypatch.setattr(Crew, "prepare", refuse)
    with pytest.raises(InputError, match="another machine"):
        crew.prepare(TASK)
