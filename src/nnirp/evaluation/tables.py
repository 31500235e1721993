"""The one table that everything ends with: protocol × predictor, pooled test MAPE in percent."""

import pandas as pd

from nnirp.evaluation.comparison import ORDER
from nnirp.evaluation.evaluator import Scores


def protocol_table(
    scores: Scores, target: str = "runtime_ms", scope: str = "pooled", metric: str = "mape_percent"
) -> pd.DataFrame:
    """Rows are protocols from easy to hard, columns predictors from best to worst; values are means over seeds."""
    rows = scores.rows
    rows = rows[
        (rows["target"] == target) & (rows["scope"] == scope) & (rows["metric"] == metric) & (rows["part"] == "test")
    ]
    table = rows.pivot_table(index="protocol", columns="predictor", values="value")
    table = table.reindex([name for name in ORDER if name in table.index] + sorted(set(table.index) - set(ORDER)))
    return table[table.mean(axis=0).sort_values(kind="stable").index].rename_axis(index=None, columns=None)
