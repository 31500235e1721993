"""Plain vision transformers that detect."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16)
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
_WINDOWED_SIZES = zip_sweep(
    hidden_size=(192, 256, 384),
    num_hidden_layers=(4, 6, 6),
    num_attention_heads=(3, 4, 6),
    window_size=(4, 8, 8),
    window_block_indices=((0, 1, 2), (0, 1, 3, 4), (0, 1, 3, 4)),
)

ROWS = (
    Row(
        502,
        "hustvl/yolos-tiny",
        "vision_transformer_detector",
        "vision_transformer_detector",
        _YOLOS_TINY,
        "transformers",
        "im",
        (Grid(((256, 1), (256, 2), (256, 4), (384, 1), (384, 2), (512, 1))),),
        (Grid((*points((256,), (3, 6, 8, 12, 16)), *points((384,), (3, 4, 6, 8)), *points((512,), (2, 3, 4)))),),
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
        (Grid((*points((224,), (2, 3, 6, 8, 12, 16)), *points((320,), (1, 3, 4, 6, 8))), _YOLOS_SIZES),),
        parametric=True,
    ),
    hub(
        521,
        "google/owlvit-base-patch32",
        "vision_transformer_detector",
        "open_vocabulary_detector",
        "im",
        Grid((*points((384,), (1, 2, 3, 4)), (768, 1))),
        model_type="owlvit",
        _queries=4,
    ),
    parametric(
        522,
        "vitdet-parametric",
        "vision_transformer_detector",
        "plain_backbone_detector",
        "im",
        Grid((*points((256,), _BATCHES[:6]), *points((384,), _BATCHES[:4])), _WINDOWED_SIZES),
        arguments={"model_type": "vitdet", "use_relative_position_embeddings": True, "_pyramid": 96},
    ),
    hub(
        523,
        "hustvl/yolos-small",
        "vision_transformer_detector",
        "vision_transformer_detector",
        "im",
        Grid((*points((256,), (1, 2, 3, 4, 6)), *points((416,), (1, 2, 3)))),
        model_type="yolos",
        num_labels=91,
        hidden_size=384,
        intermediate_size=1536,
        num_hidden_layers=12,
        num_attention_heads=6,
    ),
)
