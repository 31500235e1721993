"""Predict how long a neural network runs, how much memory it needs and where it fits, without running it."""

__version__ = "0.1.0"
