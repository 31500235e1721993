import pytest

from nnirp.errors import InputError
from nnirp.profiling.settings import ProfileSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("device", "tpu"),
        ("threads", 0),
        ("min_repeats", -1),
        ("max_repeats", 2),
        ("time_budget_s", -1.0),
        ("timeout_s", float("nan")),
        ("memory_limit_gib", 0),
        ("retest_fraction", 1.5),
        ("isolation", "none"),
        ("cpu", -3),
        ("rounds", 0),
        ("patience", -0.5),
        ("preload", ["no module"]),
        ("build", "no colon"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(InputError, match=name):
        ProfileSettings.from_mapping({name: value})


def test_an_unknown_key_is_refused_and_the_version_passed_over():
    with pytest.raises(InputError, match="repeat_count"):
        ProfileSettings.from_mapping({"repeat_count": 3})
    assert ProfileSettings.from_mapping({"version": 1, "threads": 2}).threads == 2


def test_limits_of_a_sitting_do_not_change_what_is_measured():
    assert ProfileSettings(timeout_s=5).meaning_digest() == ProfileSettings().meaning_digest()
    assert ProfileSettings(preload=["numpy"]) == ProfileSettings(preload=("numpy",))
    assert ProfileSettings(threads=2).meaning_digest() != ProfileSettings().meaning_digest()
