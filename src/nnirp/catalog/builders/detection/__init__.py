"""Object detectors up to their raw boxes and scores; the post-processing, whose shapes depend on data, is left out."""

from nnirp.catalog.builders.detection import convolutional, queries, vision_transformer, yolo

__all__ = ["convolutional", "queries", "vision_transformer", "yolo"]
