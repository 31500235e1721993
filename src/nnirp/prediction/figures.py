"""What a predictor says of one graph, however it was computed."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Figures:
    """Float64 [T] in log2, NaN where a target is not predicted, and the milliseconds of each of N operators, None where unknown."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    milliseconds: np.ndarray | None
