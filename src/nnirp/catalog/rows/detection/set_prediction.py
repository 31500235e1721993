"""Detectors with object queries and global cross attention."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16)
_RESNET18 = {
    "model_type": "timm_backbone",
    "backbone": "resnet18",
    "num_channels": 3,
    "features_only": True,
    "use_pretrained_backbone": False,
    "out_indices": [1, 2, 3, 4],
}
_DETR_SIZES = zip_sweep(
    d_model=(128, 192, 256),
    encoder_layers=(3, 2, 4),
    decoder_layers=(3, 4, 2),
    num_queries=(50, 100, 300),
)

ROWS = (
    Row(
        503,
        "facebook/detr-resnet-50",
        "set_prediction_detector",
        "query_detector",
        {"model_type": "detr", "num_labels": 91},
        "transformers",
        "im",
        (Grid(((224, 1), (224, 2), (320, 1), (320, 2), (416, 1))),),
        (Grid((*points((224, 320), (3, 4, 6)), (416, 2), (416, 3))),),
    ),
    hub(
        511,
        "microsoft/conditional-detr-resnet-50",
        "set_prediction_detector",
        "query_detector",
        "im",
        Grid(points((256,), (1, 2, 3, 4, 6))),
        model_type="conditional_detr",
        num_labels=91,
    ),
    hub(
        512,
        "IDEA-Research/dab-detr-resnet-50",
        "set_prediction_detector",
        "query_detector",
        "im",
        Grid(points((256,), (1, 2, 3, 4, 6))),
        model_type="dab-detr",
        num_labels=91,
    ),
    hub(
        513,
        "microsoft/table-transformer-detection",
        "set_prediction_detector",
        "query_detector",
        "im",
        Grid((*points((256,), (1, 2, 3, 4, 6, 8)), *points((480,), (1, 2, 3)))),
        model_type="table-transformer",
        num_labels=2,
        num_queries=15,
        backbone_config=_RESNET18,
    ),
    parametric(
        514,
        "detr-parametric",
        "set_prediction_detector",
        "query_detector",
        "im",
        Grid((*points((224,), _BATCHES[:7]), *points((352,), _BATCHES[:6])), _DETR_SIZES),
        arguments={"model_type": "detr", "num_labels": 91, "backbone_config": _RESNET18},
    ),
)
