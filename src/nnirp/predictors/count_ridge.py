"""Ridge regression on raw operator counts: what the histogram's transform is worth, as the row that lacks it."""

import numpy as np

from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import GraphSet
from nnirp.predictors.histogram_ridge import HistogramRidge
from nnirp.predictors.registry import register
from nnirp.predictors.totals import graph_totals, operator_totals


@register
class CountRidge(HistogramRidge):
    """log2 y linear in the count of each operator, in log2 of the FLOPs and of the bytes; ridge (Hoerl and Kennard, Technometrics 1970).

    The baseline that a table of operator counts suggests. Its prediction grows exponentially with each count, so that a family with
    more of an operator than any training family is off by orders of magnitude, while a random split shows nothing of it;
    `histogram_ridge` differs in nothing but the logarithm of the counts and `u`.
    """

    name = "count_ridge"

    @staticmethod
    def _rows(graphs: GraphSet) -> np.ndarray:
        counts = np.exp2(operator_totals(graphs)[:, : len(load_vocabulary())]) - 1
        return np.column_stack([counts, np.log2(1 + graph_totals(graphs)[:, :2])])
