"""Split-conformal intervals: the width that covered the validation residuals, with the finite-sample correction.

Vovk et al., Algorithmic Learning in a Random World, 2005; Lei et al., Distribution-Free Predictive Inference for
Regression, JASA 2018 (residuals scaled by an own estimate of the error). The promise of 90 % holds for graphs exchangeable
with the validation graphs; on unseen clusters the coverage is what the evaluation measures.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

COVERAGE = 0.90


@dataclass(frozen=True)
class Calibration:
    """Half width = `factor` × (spread + `floor`), in log2; without a spread, `factor` alone (`floor` is 0).

    `method` says what the width is worth: "conformal"; "student" where fewer than 9 rows make a 90 % rank impossible and
    a normal error of unknown size was assumed instead; "none" where there was no row, and the width is infinite.
    """

    factor: float | None
    floor: float
    rows: int
    method: str

    def half_width(self, n: int, spread: np.ndarray | None = None) -> np.ndarray:
        """float64 [n] in log2."""
        if self.factor is None:
            return np.full(n, np.inf)
        scale = np.ones(n) if spread is None or not self.floor else np.asarray(spread, dtype=np.float64) + self.floor
        return self.factor * scale


def calibrate(residuals: np.ndarray, spread: np.ndarray | None = None, coverage: float = COVERAGE) -> Calibration:
    """Learn the width from validation residuals.

    Args:
        residuals: [n] measured minus predicted in log2; NaN where a label or prediction is missing.
        spread: [n], the predictor's own estimate of its error in log2, such as the deviation of an ensemble. The median of it
            is added to each, so that members that agree by chance do not promise a width of zero.
        coverage: of the interval.

    Returns:
        The ceil((n + 1) × coverage)-th smallest score. Below 9 rows (at 90 %) that rank does not exist: then the prediction
        bound of a normal error with zero mean, Student's t(n) × root mean square × sqrt(1 + 1/n). Without a row: none.
    """
    known = np.isfinite(residuals)
    scores = np.abs(np.asarray(residuals, dtype=np.float64)[known])
    n = len(scores)
    if n == 0:
        return Calibration(None, 0.0, 0, "none")
    floor = 0.0
    if spread is not None:
        scale = np.asarray(spread, dtype=np.float64)[known]
        floor = float(np.median(scale))
        if floor > 0:
            scores = scores / (scale + floor)
    rank = math.ceil((n + 1) * coverage)
    if rank <= n:
        return Calibration(float(np.sort(scores)[rank - 1]), floor, n, "conformal")
    rms = float(np.sqrt(np.mean(scores**2)))
    return Calibration(float(student.ppf((1 + coverage) / 2, n)) * rms * math.sqrt(1 + 1 / n), floor, n, "student")
