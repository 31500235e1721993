"""Source configurations 301–399: encoder–decoders."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep

_T5_SIZES = zip_sweep(
    d_model=(128, 256, 256, 512), num_layers=(2, 4, 8, 4), num_heads=(2, 4, 4, 8), d_ff=(512, 1024, 1024, 2048)
)

ROWS = (
    Row(
        301,
        "google-t5/t5-small",
        "text_encoder_decoder",
        "text_to_text",
        {"model_type": "t5"},
        "transformers",
        "seq",
        (Grid(points((32, 64, 128), (1, 2, 4))), Grid(((64, 1),), precision="bf16")),
    ),
    Row(
        302,
        "facebook/bart-base",
        "text_encoder_decoder",
        "text_to_text",
        {
            "model_type": "bart",
            "d_model": 768,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "encoder_attention_heads": 12,
            "decoder_attention_heads": 12,
            "encoder_ffn_dim": 3072,
            "decoder_ffn_dim": 3072,
        },
        "transformers",
        "seq",
        (Grid(points((16, 32, 64), (1, 2))),),
    ),
    Row(
        303,
        "openai/whisper-tiny",
        "speech_encoder_decoder",
        "speech_to_text",
        {
            "model_type": "whisper",
            "d_model": 384,
            "encoder_layers": 4,
            "decoder_layers": 4,
            "encoder_attention_heads": 6,
            "decoder_attention_heads": 6,
            "encoder_ffn_dim": 1536,
            "decoder_ffn_dim": 1536,
        },
        "transformers",
        "seq",
        (Grid(((4, 1), (4, 2), (32, 1))),),
    ),
    Row(
        304,
        "t5-parametric",
        "text_encoder_decoder",
        "text_to_text",
        {"model_type": "t5", "d_kv": 64},
        "transformers",
        "seq",
        (Grid(((64, 1), (128, 4), (256, 1)), _T5_SIZES),),
        parametric=True,
    ),
)
