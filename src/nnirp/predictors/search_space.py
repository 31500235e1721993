"""What may be tuned of a predictor: ranges of its settings, free of the library that searches them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Logarithmic:
    """A real number between `low` and `high`, drawn evenly on a logarithmic scale."""

    low: float
    high: float


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    values: tuple[Any, ...]


SearchSpace = dict[str, Logarithmic | Choice]
RATES = Logarithmic(3e-4, 1e-2)
DECAYS = Logarithmic(1e-6, 1e-1)
WIDTHS = Choice((32, 64, 128, 256))
DROPOUTS = Choice((0.0, 0.05, 0.1, 0.2))
