import dataclasses

import numpy as np
import pytest

from nnirp.errors import InputError
from nnirp.features.vocabulary import load_vocabulary
from nnirp.predictors import create
from nnirp.predictors.fusion import OPERATOR_KINDS
from nnirp.predictors.roofline_base import GROUPS, kind_prices


@pytest.fixture(scope="module")
def trained(parts):
    predictor = create("additive_roofline", members=2, width=16, max_epochs=30, steps_per_epoch=4)
    predictor.fit(*parts[:2], seed=0)
    return predictor


def test_learns_a_sum_over_operators(trained, parts):
    error = np.abs(trained.predict(parts[2]).mean - parts[2].y)
    assert error[:, 0].mean() < 0.15 and error[:, 1].mean() < 0.05


def test_attribution_sums_to_the_prediction_with_one_positive_part_an_operator(trained, parts):
    attributions = trained.attribute(parts[2])
    assert [len(a) for a in attributions] == parts[2].nodes.tolist()
    assert all((a >= 0).all() for a in attributions)
    np.testing.assert_allclose(
        [a.sum() for a in attributions], np.exp2(trained.predict(parts[2]).mean[:, 0]), rtol=1e-5
    )


def test_a_prediction_does_not_depend_on_the_other_graphs_of_its_batch(trained, parts):
    together = trained.predict(parts[0]).mean
    alone = np.concatenate([trained.predict(parts[0].subset([i])).mean for i in range(5)])
    np.testing.assert_allclose(together[:5], alone, atol=1e-4)


@pytest.mark.parametrize("settings", [{"roofline": False}, {"context": "neighbours"}, {"context": "none"}])
def test_ablations_learn_too(settings, parts):
    predictor = create("additive_roofline", members=1, width=16, max_epochs=30, steps_per_epoch=4, **settings)
    predictor.fit(*parts[:2], seed=0)
    assert np.abs(predictor.predict(parts[2]).mean[:, 0] - parts[2].y[:, 0]).mean() < 0.5


def test_an_operator_hears_those_within_the_depth_of_its_messages_and_nothing_without_any(parts):
    store = parts[2].store
    op, nodes = store.op.copy(), slice(*store.node_ptr[44:46])
    op[nodes.stop - 1] = load_vocabulary().index[
        "Sigmoid"
    ]  # in place of another element-wise operator or a convolution
    other = dataclasses.replace(store, op=op).subset([44])
    for context, reached in (("messages", 2), ("none", 0)):
        predictor = create("additive_roofline", members=1, width=16, max_epochs=3, steps_per_epoch=4, context=context)
        predictor.fit(*parts[:2], seed=0)
        before, after = (predictor.attribute(graphs)[0] for graphs in (store.subset([44]), other))
        changed = np.flatnonzero(~np.isclose(before, after, rtol=1e-6))
        hops = len(before) - 1 - changed
        assert hops.max() >= reached and (context == "messages" or hops.max() == 0)


def test_an_unknown_context_is_refused(parts):
    with pytest.raises(InputError, match="expected one of messages, neighbours, none"):
        create("additive_roofline", context="all").fit(*parts[:2])


def test_kinds_start_at_their_own_prices_and_an_unseen_kind_at_the_one_of_its_group():
    generator = np.random.default_rng(0)
    prices = generator.uniform(1, 3, (len(OPERATOR_KINDS), 2))
    totals = generator.uniform(1, 10, (200, *prices.shape))
    unseen, others = OPERATOR_KINDS.index("product"), [OPERATOR_KINDS.index(kind) for kind in GROUPS[0][:3]]
    totals[:, unseen] = 0
    found = kind_prices(totals, (totals * prices).sum((1, 2)))
    seen = np.arange(len(OPERATOR_KINDS)) != unseen
    np.testing.assert_allclose(found[seen], prices[seen], rtol=0.1)
    assert (abs(found[unseen] / prices[others].mean(0) - 1) < 0.3).all()
