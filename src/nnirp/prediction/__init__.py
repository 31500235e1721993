"""Asking about one model: prediction with interval, what it rests on, and how unlike the training pool the model is."""
