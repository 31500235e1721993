from pathlib import Path

import pytest

from nnirp.catalog import SUB_FAMILIES, load_catalog
from nnirp.catalog.left_out import LEFT_OUT, LeftOut
from nnirp.catalog.page import COMMAND, taxonomy_page

PAGE = Path(__file__).parents[2] / "docs" / "taxonomy.md"


@pytest.fixture(scope="module")
def page():
    return taxonomy_page(load_catalog("starter"), load_catalog("full"))


def test_the_committed_page_is_what_the_command_writes(page):
    assert PAGE.read_text(encoding="utf-8") == page, (
        f"docs/taxonomy.md is not up to date: run `{COMMAND}` and commit it"
    )


def test_every_sub_family_and_configuration_is_on_the_page(page):
    assert all(f"### {name}\n" in page for name in SUB_FAMILIES)
    for configuration in load_catalog("full").configurations:
        assert f"| {configuration.id} | `{configuration.name}` |" in page


def test_counts_of_both_selections_stand_beside_the_name():
    full = load_catalog("full").subset([301, 601])
    page = taxonomy_page(load_catalog("starter").subset([301]), full, [LeftOut("giant", "recurrent", "too large")])
    assert f"| 301 | `google-t5/t5-small` | real | 10 | {len(full.by_id(301).samples)} |" in page
    assert f"| 601 | `lstm-parametric` | parametric | 0 | {len(full.by_id(601).samples)} |" in page
    assert "## convolutional" not in page and "| recurrent | `giant` | too large |" in page


def test_what_is_left_out_is_not_in_the_catalog():
    names = {c.name for c in load_catalog("full").configurations}
    assert not names & {entry.name for entry in LEFT_OUT}
