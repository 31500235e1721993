import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nnirp.errors import InputError, NotPulledError
from nnirp.prediction.exploration.expressions import evaluate
from nnirp.prediction.exploration.output import write_csv, write_page
from nnirp.prediction.exploration.search import Search, explore, pareto_front
from nnirp.prediction.exploration.spec import Range, Spec, read_spec


class Given:
    """Candidates whose graph is the point itself."""

    def encoded(self, point):
        if point["a"] == 13:
            raise InputError("thirteen")
        return point


def score(points):
    return [
        {"runtime_ms": float(p["a"] * p["b"]), "peak_ram_mb": 100.0 / p["a"], "parameters": float(p["b"])}
        for p in points
    ]


SPACE = Spec(builder="x", family="y", vary={"a": Range(low=1, high=20), "b": [1, 2, 3]}, require=["a % b == 0"])


@given(arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=st.integers(0, 6).map(float)))
def test_the_front_holds_exactly_what_nothing_else_beats(values):
    front = pareto_front(values)
    for i, row in enumerate(values):
        beaten = any((other <= row).all() and (other < row).any() for other in values)
        if i in front:
            assert not beaten
        else:
            assert beaten or any((values[j] == row).all() for j in front)


def test_a_grid_tries_every_allowed_point_and_names_those_that_fail():
    found = explore(SPACE, Given(), score)
    assert len(found.candidates) + len(found.failed) == sum(a % b == 0 for a in range(1, 21) for b in (1, 2, 3))
    assert found.failed == (({"a": 13, "b": 1}, "thirteen"),)
    best = min(found.candidates, key=lambda c: c.figures["runtime_ms"])
    assert found.candidates.index(best) in found.front


def test_a_search_stays_within_its_trials_repeats_with_its_seed_and_tries_nothing_twice():
    space = SPACE.model_copy(update={"search": Search(trials=30, seed=3)})
    first, second = explore(space, Given(), score), explore(space, Given(), score)
    points = [tuple(c.point.values()) for c in first.candidates]
    assert points == [tuple(c.point.values()) for c in second.candidates]
    assert len(set(points)) == len(points) and 10 < len(points) + len(first.failed) <= 30
    assert all(a % b == 0 for a, b in points)


def test_an_objective_that_nothing_predicts_is_refused():
    with pytest.raises(InputError, match="joules"):
        explore(SPACE.model_copy(update={"objectives": {"joules": "minimize"}}), Given(), score)


def test_a_space_without_an_allowed_point_is_refused():
    with pytest.raises(InputError, match="require"):
        explore(SPACE.model_copy(update={"require": ["a > 100"]}), Given(), score)


def test_output_has_every_candidate_and_marks_the_front(tmp_path):
    found = explore(SPACE, Given(), score)
    write_csv(found, tmp_path / "c.csv")
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert len(rows) == len(found.candidates) and sum(r["pareto"] == "True" for r in rows) == len(found.front)
    write_page(found, SPACE, "a <basis>", tmp_path / "index.html")
    page = (tmp_path / "index.html").read_text()
    assert page.count("<figure") == 3 and "a &lt;basis&gt;" in page and "http" not in page.split("<script>")[1]
    assert all(f'id="runtime_ms-peak_ram_mb-{i}"' in page for i in range(len(found.candidates)))
    assert page.count("<tr data-candidate") == len(found.front)


@pytest.mark.parametrize(
    ("text", "value"),
    [("4 * w", 32), ("w // h + 1", 3), ("w % h == 0 and h > 2", True), ("(w - h) * 2", 8), ("1 < h < w", True)],
)
def test_expressions_are_arithmetic(text, value):
    assert evaluate(text, {"w": 8, "h": 4}) == value


@pytest.mark.parametrize(
    "text", ["__import__('os')", "w.real", "w ** 999999", "x", "w //  0", "[1]", "w if h else 1", "(", "'a'"]
)
def test_expressions_are_nothing_else(text):
    with pytest.raises(InputError, match="no arithmetic"):
        evaluate(text, {"w": 8, "h": 4})


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "the file"),
        ("builder: [", "YAML"),
        ("{builder: a, family: b, vary: {}}", "vary"),
        ("{builder: a, family: b, vary: {w: [1]}, depth: l}", "depth"),
        ("{builder: a, family: b, vary: {w: {from: 0, to: 3}}}", "from"),
        ("{builder: a, family: b, vary: {w: [1]}, speed: 3}", "speed"),
        ("{builder: a, family: b, vary: {w: [1]}, search: {trials: 0}}", "trials"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(tmp_path, content, word):
    path = tmp_path / "spec.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=word):
        read_spec(path)


def test_a_grid_without_end_is_refused(tmp_path):
    with pytest.raises(NotPulledError):
        read_spec(tmp_path / "gone.yaml")
    big = Spec(builder="a", family="b", vary={n: Range(low=1, high=200) for n in "pqr"})
    with pytest.raises(InputError, match="trials"):
        list(big.grid())
