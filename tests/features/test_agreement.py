"""The agreement benchmarks on three small models of the catalog; `benchmarks/` runs them over all of it."""

import pytest

from canonical_agreement import differing
from catalog_samples import cached_graph, cached_user_export, shallow, smallest
from flop_agreement import TOLERANCE, counted_by_torch, counted_by_us
from nnirp.features import encode
from nnirp.graphs.reading import read_onnx

IDS = {"llama": 104, "bert": 204, "residual": 408}


@pytest.fixture(scope="module", params=IDS.values(), ids=IDS)
def exported(request, tmp_path_factory):
    """(configuration, sample, weight-free graph, user's export)"""
    configuration, sample = next(smallest("starter", [request.param]))
    sample = shallow(configuration, sample)
    cache = tmp_path_factory.mktemp("exports")
    contents = (cached(configuration, sample, cache) for cached in (cached_graph, cached_user_export))
    return configuration, sample, *map(read_onnx, contents)


def test_a_users_export_has_the_features_of_the_weight_free_one(exported):
    _, sample, bare, user = exported
    assert len(bare.graph.node) > len(user.graph.node)
    assert differing(encode(bare, batch=sample.batch), encode(user, batch=sample.batch)) == []


def test_products_and_convolutions_are_those_of_torchs_counter(exported):
    configuration, sample, bare, _ = exported
    theirs, _ = counted_by_torch(configuration, sample)
    assert counted_by_us(bare, sample.batch) == pytest.approx(theirs, rel=TOLERANCE)
