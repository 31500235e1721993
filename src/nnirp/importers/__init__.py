"""Measurements made by others become the same layers as one's own: each importer writes an ordinary dataset root."""
