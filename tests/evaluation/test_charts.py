import re
from xml.etree import ElementTree

import pytest

from nnirp.evaluation.charts import INK, figure_names, heat_map, svgs, to_svg


@pytest.fixture(scope="module")
def drawn(comparison):
    return svgs(comparison)


def test_every_chart_is_wellformed_svg_with_the_noise_floor(comparison, drawn):
    assert list(drawn) == figure_names(comparison)
    for text in drawn.values():
        ElementTree.fromstring(text)
        assert "noise floor" in text and "currentColor" in text and INK not in text


def test_bytes_are_the_same_twice_and_undated(comparison, drawn):
    assert to_svg(heat_map(comparison), "runtime_ms-heat-map") == drawn["heat-map"]
    assert not re.search(r"20\d\d-\d\d-\d\d|<dc:date>", "".join(drawn.values()))


def test_ids_of_two_charts_do_not_clash_and_references_resolve(drawn):
    texts = list(drawn.values())
    ids = [set(re.findall(r'id="([^"]+)"', t)) for t in texts]
    assert sum(map(len, ids)) == len(set().union(*ids))
    for text, known in zip(texts, ids, strict=True):
        assert set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text)) <= known
