import numpy as np

from nnirp.predictors import create
from nnirp.predictors.linear import fit_prices


def test_prices_of_an_exact_sum_are_recovered_and_never_negative():
    columns = np.random.default_rng(0).uniform(1, 10, (40, 3)) * [1, 1e9, 1e6]
    prices = np.array([0.5, 2e-9, 0.0])
    np.testing.assert_allclose(fit_prices(columns, columns @ prices), prices, atol=1e-12)
    assert (fit_prices(columns, 1 / columns[:, 0]) >= 0).all()


def test_linear_is_exact_where_time_is_linear(parts):
    train, val, test = parts
    predictor = create("linear")
    predictor.fit(train, val)
    assert np.abs(predictor.predict(test).mean[:, 0] - test.y[:, 0]).max() < 1e-3
