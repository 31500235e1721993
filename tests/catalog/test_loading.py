import re

import pytest

from nnirp.catalog import FAMILIES, load_catalog
from nnirp.errors import InputError

#: What the first published measurements are of.
STARTER = [*range(101, 106), *range(201, 213), *range(301, 305), *range(401, 410), *range(501, 506), *range(601, 606)]


def test_the_starter_selection_never_changes_its_configurations():
    assert [c.id for c in load_catalog("starter").configurations] == STARTER


def test_starter_is_a_part_of_full():
    starter, full = load_catalog("starter"), load_catalog("full")
    names = {s.name for c in full.configurations for s in c.samples}
    assert {s.name for c in starter.configurations for s in c.samples} <= names


def test_sample_names_are_well_formed():
    pattern = re.compile(r"[A-Za-z0-9.\-]+(_[A-Za-z0-9.\-]+)*_(im|seq|frames|steps)\d+_b\d+(_decode)?_(fp32|bf16)")
    for configuration in load_catalog("full").configurations:
        for sample in configuration.samples:
            assert pattern.fullmatch(sample.name), sample.name


def test_names_are_unique():
    names = [s.name for c in load_catalog("full").configurations for s in c.samples]
    assert len(names) == len(set(names))


def test_no_family_is_below_eight_percent_and_bf16_is_a_small_part():
    summary = load_catalog("starter").summary()
    assert set(summary["families"]) == set(FAMILIES)
    assert all(counts["samples"] >= 0.08 * summary["samples"] for counts in summary["families"].values())
    assert summary["precisions"]["bf16"] <= 0.15 * summary["samples"]
    assert summary["precisions"]["fp32"] >= 200


def test_only_parametric_configurations_sweep_arguments():
    for configuration in load_catalog("full").configurations:
        assert configuration.parametric == any(s.arguments for s in configuration.samples), configuration.name


def test_unknown_selection_is_refused():
    with pytest.raises(InputError, match="starter, full"):
        load_catalog("all")
