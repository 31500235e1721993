import numpy as np
import pytest

from nnirp.predictors import create


@pytest.mark.parametrize("name", ["histogram_ridge", "count_ridge"])
def test_a_ridge_predicts_graphs_like_those_it_saw(name, parts):
    predictor = create(name)
    predictor.fit(*parts[:2])
    assert np.abs(predictor.predict(parts[2]).mean[:, 0] - parts[2].y[:, 0]).mean() < 0.5


def test_raw_counts_grow_exponentially_beyond_the_training_range_and_their_logarithm_does_not(store):
    train, large = (store.subset(np.flatnonzero(mask)) for mask in (store.nodes < 9, store.nodes > 16))
    errors = []
    for name in ("count_ridge", "histogram_ridge"):
        predictor = create(name, penalties=(0.01,))
        predictor.fit(train, train.subset([]))
        errors.append(np.abs(predictor.predict(large).mean[:, 0] - large.y[:, 0]).mean())
    assert errors[0] > 1.5 * errors[1]
