"""Where the additive roofline starts: one constant price of each quantity of work for each kind of operator."""

import numpy as np

from nnirp.predictors.linear import fit_prices

_PENALTY = 1e-4
_LEAST = 0.05  # of a typical price: from zero no factor leads anywhere


def kind_prices(totals: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Non-negative prices by least squares of the relative error over whole graphs.

    Args:
        totals: float64 [n, kinds, W], the work of each graph by kind of operator.
        measured: float64 [n], positive.

    Returns:
        float64 [kinds, W], positive: at least a twentieth of the typical price of that work; the typical one, which makes each of
        the W terms an equal part of the median graph's time, for a kind that no graph has.
    """
    count, kinds, terms = totals.shape
    prices = fit_prices(totals.reshape(count, -1), measured, _PENALTY).reshape(kinds, terms)
    typical = np.median(measured[:, None] / np.maximum(totals.sum(1), 1.0), axis=0) / terms
    seen = totals.any(axis=(0, 2))
    return np.where(seen[:, None], np.maximum(prices, _LEAST * typical), typical)
