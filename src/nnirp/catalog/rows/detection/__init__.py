"""Source configurations 501–599: object detectors, a file of rows for each sub-family."""

from nnirp.catalog.rows.detection import anchor, deformable, set_prediction, vision_transformer

ROWS = (*anchor.ROWS, *set_prediction.ROWS, *deformable.ROWS, *vision_transformer.ROWS)
