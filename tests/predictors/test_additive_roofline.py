import numpy as np
import pytest

from nnirp.predictors import create


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
