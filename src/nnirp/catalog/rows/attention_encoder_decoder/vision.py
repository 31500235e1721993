"""Image to text: 326–332."""

from nnirp.catalog.grids import Grid, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_VISION = "vision_encoder_decoder"
_PAIR_SIZES = zip_sweep(width=(192, 256, 384), encoder_layers=(6, 4, 8), decoder_layers=(2, 6, 4))

ROWS = (
    hub(
        326,
        "microsoft/trocr-small-printed",
        _VISION,
        "image_to_text",
        "im",
        Grid(points((384,), (1, 2, 3, 4))),
        model_type="vision-encoder-decoder",
        _encoder={
            "model_type": "deit",
            "hidden_size": 384,
            "intermediate_size": 1536,
            "num_hidden_layers": 12,
            "num_attention_heads": 6,
        },
        _decoder={
            "model_type": "trocr",
            "vocab_size": 64044,
            "d_model": 256,
            "decoder_layers": 6,
            "decoder_attention_heads": 8,
            "decoder_ffn_dim": 1024,
            "cross_attention_hidden_size": 384,
        },
    ),
    hub(
        327,
        "nlpconnect/vit-gpt2-image-captioning",
        _VISION,
        "image_to_text",
        "im",
        Grid(points((224,), (1, 2, 3))),
        Grid(points((224,), (1, 2, 4, 6, 8)), mode="decode"),
        model_type="vision-encoder-decoder",
        _encoder={"model_type": "vit"},
        _decoder={"model_type": "gpt2"},
    ),
    hub(
        328,
        "naver-clova-ix/donut-base",  # made for pages of 2560 × 1920 pixels, which take one core minutes
        _VISION,
        "image_to_text",
        "im",
        Grid(points((320,), (1, 2))),
        model_type="vision-encoder-decoder",
        _encoder={
            "model_type": "donut-swin",
            "embed_dim": 128,
            "depths": [2, 2, 14, 2],
            "num_heads": [4, 8, 16, 32],
            "window_size": 10,
        },
        _decoder={
            "model_type": "mbart",
            "vocab_size": 57525,
            "decoder_layers": 4,
            "scale_embedding": True,
            "add_final_layer_norm": True,
        },
    ),
    hub(
        329,
        "google/pix2struct-base",
        _VISION,
        "patches_to_text",
        "seq",
        Grid(points((128,), (1, 2, 3, 4))),
        model_type="pix2struct",
    ),
    hub(
        330,
        "Salesforce/blip-image-captioning-base",
        _VISION,
        "image_captioner",
        "im",
        Grid(points((224,), (1, 2, 3))),
        model_type="blip",
    ),
    hub(
        331,
        "florence-community/Florence-2-base",
        _VISION,
        "prompted_image_to_text",
        "im",
        Grid(points((224,), (1, 2, 3))),
        model_type="florence2",
        vision_config={"projection_dim": 768},
        text_config={
            "model_type": "bart",
            "vocab_size": 51290,
            "d_model": 768,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "encoder_attention_heads": 12,
            "decoder_attention_heads": 12,
            "encoder_ffn_dim": 3072,
            "decoder_ffn_dim": 3072,
        },
    ),
    parametric(
        332,
        "vit-gpt2-parametric",
        _VISION,
        "parametric_image_to_text",
        "im",
        Grid(points((224,), (1, 2, 3, 4, 6, 8, 12)), _PAIR_SIZES),
        Grid(points((160,), (1, 2, 3, 4, 8, 16, 24)), _PAIR_SIZES[:2], mode="decode"),
        arguments={"model_type": "vision-encoder-decoder"},
    ),
)
