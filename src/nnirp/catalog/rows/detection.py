"""Source configurations 501–599: object detectors.

(being extended by its own author; leave alone)
"""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep

_YOLOS_TINY = {
    "model_type": "yolos",
    "num_labels": 91,
    "hidden_size": 192,
    "intermediate_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 3,
}
_YOLOS_SIZES = zip_sweep(
    hidden_size=(128, 192, 256, 384),
    num_hidden_layers=(6, 6, 8, 6),
    num_attention_heads=(2, 3, 4, 6),
    intermediate_size=(512, 768, 1024, 1536),
)

ROWS = (
    Row(
        501,
        "ssdlite320_mobilenet_v3_large",
        "anchor_detector",
        "torchvision_dense_detector",
        {"architecture": "ssdlite320_mobilenet_v3_large"},
        "torchvision",
        "im",
        (Grid(points((256, 320), (1, 2, 4))), Grid(((320, 1),), precision="bf16")),
    ),
    Row(
        502,
        "hustvl/yolos-tiny",
        "vision_transformer_detector",
        "vision_transformer_detector",
        _YOLOS_TINY,
        "transformers",
        "im",
        (Grid(((256, 1), (256, 2), (256, 4), (384, 1), (384, 2), (512, 1))),),
    ),
    Row(
        503,
        "facebook/detr-resnet-50",
        "set_prediction_detector",
        "query_detector",
        {"model_type": "detr", "num_labels": 91},
        "transformers",
        "im",
        (Grid(((224, 1), (224, 2), (320, 1), (320, 2), (416, 1))),),
    ),
    Row(
        504,
        "PekingU/rtdetr_r18vd",
        "deformable_detector",
        "query_detector",
        {
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
        },
        "transformers",
        "im",
        (Grid(((256, 1), (256, 2), (320, 1), (320, 2), (384, 1), (448, 1))),),
    ),
    Row(
        505,
        "yolos-parametric",
        "vision_transformer_detector",
        "vision_transformer_detector",
        {"model_type": "yolos", "num_labels": 91},
        "transformers",
        "im",
        (Grid(((224, 1), (224, 4), (320, 2)), _YOLOS_SIZES),),
        parametric=True,
    ),
)
