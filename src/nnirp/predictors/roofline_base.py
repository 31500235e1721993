"""Where the additive roofline starts: one constant price of each quantity of work for each kind of operator."""

import numpy as np
from scipy.optimize import nnls

from nnirp.predictors.fusion import OPERATOR_KINDS
from nnirp.predictors.linear import fit_prices

# Kinds that share a price until the measurements tell them apart.
GROUPS = (
    ("dense convolution", "pointwise convolution", "depthwise convolution", "product"),
    ("pool", "elementwise", "movement", "other"),
    ("view", "fused", "fused with a second input"),
)
_SHARED_PENALTY, _OWN_PENALTY = (
    1e-2,
    3e-4,
)  # the squared relative error of one graph that a price off by its own size is worth
_LEAST_SHARED, _LEAST_OWN = 0.05, 0.01  # of a typical, of the group's price: from zero no factor leads anywhere


def kind_prices(totals: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Non-negative prices by least squares of the relative error over whole graphs, in two steps.

    First one price for each group of kinds; then each kind's own, with a penalty on its relative distance from the group's. What the
    measurements do not tell apart, and a kind that no graph has, keep the price of their group.

    Args:
        totals: float64 [n, kinds, W], the work of each graph by kind of operator.
        measured: float64 [n], positive.

    Returns:
        float64 [kinds, W], positive.
    """
    count, kinds, terms = totals.shape
    group = np.array([next(g for g, names in enumerate(GROUPS) if kind in names) for kind in OPERATOR_KINDS])
    together = np.stack([totals[:, group == g].sum(1) for g in range(len(GROUPS))], axis=1).reshape(count, -1)
    shared = fit_prices(together, measured, _SHARED_PENALTY).reshape(len(GROUPS), terms)
    # the price at which each of the W terms is an equal part of the median graph's time
    typical = np.median(measured[:, None] / np.maximum(totals.sum(1), 1.0), axis=0) / terms
    shared = np.maximum(shared, _LEAST_SHARED * typical)[group]
    parts = (totals * shared).reshape(count, -1) / measured[:, None]
    weight = np.sqrt(_OWN_PENALTY)
    rows = np.vstack([parts, weight * np.eye(kinds * terms)])
    own = nnls(rows, np.concatenate([np.ones(count), np.full(kinds * terms, weight)]))[0].reshape(kinds, terms)
    return shared * np.maximum(own, _LEAST_OWN)
