from pathlib import Path

import pytest

from nnirp.errors import InputError, NotPulledError
from nnirp.parameters import load_parameters

PARAMS = Path(__file__).parents[1] / "params.yaml"


def test_the_projects_own_parameters_are_valid():
    assert load_parameters(PARAMS).encode.targets[0] == "runtime_ms"


@pytest.mark.parametrize(
    ("line", "replacement", "named"),
    [
        ("  threads: 1", "  threads: -1", "profile.threads"),
        ("  threads: 1", "  threads: 1\n  treads: 2", "profile.treads"),
        ("  time_budget_s: 2.0", "  time_budget_s: soon", "profile.time_budget_s"),
        ("  form: canonical", "  form: pretty", "encode.form"),
        ("  confidence: 0.95", "  confidence: 95", "evaluate.confidence"),
    ],
)
def test_a_bad_value_is_refused_on_one_line_that_names_it(tmp_path, line, replacement, named):
    text = PARAMS.read_text()
    assert line in text
    path = tmp_path / "params.yaml"
    path.write_text(text.replace(line, replacement))
    with pytest.raises(InputError) as error:
        load_parameters(path)
    assert named in str(error.value) and "\n" not in str(error.value)


def test_a_file_that_is_not_yaml_is_refused(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("a: [1\nb: }")
    with pytest.raises(InputError, match="not YAML"):
        load_parameters(path)


def test_a_missing_file_says_where_it_comes_from(tmp_path):
    with pytest.raises(NotPulledError, match="git checkout"):
        load_parameters(tmp_path / "params.yaml")
