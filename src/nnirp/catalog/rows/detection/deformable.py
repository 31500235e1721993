"""Detectors with deformable attention over several scales, real-time ones included."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16)
_RTDETR_R18 = {
    "model_type": "rt_detr",
    "attention": "eager",  # its convolutional backbone accepts no other
    "num_labels": 80,
    "_pixel_mask": False,
    "backbone_config": {
        "model_type": "rt_detr_resnet",
        "layer_type": "basic",
        "hidden_sizes": [64, 128, 256, 512],
        "depths": [2, 2, 2, 2],
        "embedding_size": 64,
        "out_features": ["stage2", "stage3", "stage4"],
    },
    "encoder_in_channels": [128, 256, 512],
    "hidden_expansion": 0.5,
    "decoder_layers": 3,
}
_RESNET18 = {
    "model_type": "timm_backbone",
    "backbone": "resnet18",
    "num_channels": 3,
    "features_only": True,
    "use_pretrained_backbone": False,
    "out_indices": [1, 2, 3, 4],
}
_DEFORMABLE_SIZES = zip_sweep(
    d_model=(128, 256),
    encoder_layers=(2, 1),
    decoder_layers=(2, 3),
    num_queries=(100, 300),
)

ROWS = (
    Row(
        504,
        "PekingU/rtdetr_r18vd",
        "deformable_detector",
        "query_detector",
        _RTDETR_R18,
        "transformers",
        "im",
        (Grid(((256, 1), (256, 2), (320, 1), (320, 2), (384, 1), (448, 1))),),
        (Grid((*points((256, 320), (3, 4, 6)), *points((384, 448), (2, 3)))),),
    ),
    hub(
        515,
        "SenseTime/deformable-detr",
        "deformable_detector",
        "query_detector",
        "im",
        Grid(points((256,), (1, 2, 3, 4))),
        model_type="deformable_detr",
        num_labels=91,
    ),
    hub(
        516,
        "PekingU/rtdetr_v2_r18vd",
        "deformable_detector",
        "query_detector",
        "im",
        Grid((*points((256,), (1, 2, 3, 4, 6)), *points((384,), (1, 2, 3)))),
        **_RTDETR_R18 | {"model_type": "rt_detr_v2"},
    ),
    hub(
        517,
        "ustc-community/dfine-large-coco",
        "deformable_detector",
        "query_detector",
        "im",
        Grid(points((256,), (1, 2, 3))),
        model_type="d_fine",
        num_labels=80,
        attention="eager",
        _pixel_mask=False,
    ),
    hub(
        518,
        "AnnaZhang/lwdetr_small_60e_coco",
        "deformable_detector",
        "query_detector",
        "im",
        Grid(points((320,), (1, 2, 3, 4, 6))),
        model_type="lw_detr",
        num_labels=91,
        projector_scale_factors=[1.0],
        decoder_n_points=2,
    ),
    hub(
        519,
        "Roboflow/rf-detr-base",
        "deformable_detector",
        "query_detector",
        "im",
        Grid(points((280,), (1, 2, 3, 4))),
        model_type="rf_detr",
        num_labels=91,
    ),
    parametric(
        520,
        "deformable-detr-parametric",
        "deformable_detector",
        "query_detector",
        "im",
        Grid(points((192, 288), _BATCHES[:6]), _DEFORMABLE_SIZES),
        arguments={
            "model_type": "deformable_detr",
            "num_labels": 91,
            "backbone_config": _RESNET18 | {"out_indices": [2, 3, 4]},
            "encoder_ffn_dim": 512,
            "decoder_ffn_dim": 512,
        },
    ),
)
