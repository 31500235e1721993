"""Text to text: 301, 302, 304–318."""

from typing import Any

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_TEXT = "text_encoder_decoder"
_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_T5_SIZES = zip_sweep(
    d_model=(128, 256, 256, 512), num_layers=(2, 4, 8, 4), num_heads=(2, 4, 4, 8), d_ff=(512, 1024, 1024, 2048)
)
_T5_ANSWERS = zip_sweep(_decoder_tokens=(64, 192))
_MARIAN_SIZES = zip_sweep(
    d_model=(256, 512, 768),
    encoder_layers=(3, 6, 3),
    decoder_layers=(3, 2, 3),
    encoder_attention_heads=(4, 8, 12),
    decoder_attention_heads=(4, 8, 12),
    encoder_ffn_dim=(1024, 2048, 3072),
    decoder_ffn_dim=(1024, 2048, 3072),
    _decoder_tokens=(48, 8, 24),
)
_BART_SIZES = zip_sweep(
    d_model=(128, 384, 512),
    encoder_layers=(2, 6, 4),
    decoder_layers=(6, 2, 4),
    encoder_attention_heads=(2, 6, 8),
    decoder_attention_heads=(2, 6, 8),
    encoder_ffn_dim=(512, 1536, 2048),
    decoder_ffn_dim=(512, 1536, 2048),
    _decoder_tokens=(128, 32, 4),
)


def _text(identifier: int, name: str, *more: Grid, **arguments: Any) -> Row:
    return hub(identifier, name, _TEXT, "text_to_text", "seq", *more, **arguments)


def _layers(depth: tuple[int, int], width: int, heads: int, hidden: int) -> dict[str, int]:
    """Sizes of encoder and decoder in the words of BART and its relatives."""
    encoder, decoder = depth
    return {
        "d_model": width,
        "encoder_layers": encoder,
        "decoder_layers": decoder,
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": hidden,
        "decoder_ffn_dim": hidden,
    }


ROWS = (
    Row(
        301,
        "google-t5/t5-small",
        _TEXT,
        "text_to_text",
        {"model_type": "t5"},
        "transformers",
        "seq",
        (Grid(points((32, 64, 128), (1, 2, 4))), Grid(((64, 1),), precision="bf16")),
        (
            Grid((*points((32, 64), (8, 16)), (128, 8), (128, 12))),
            Grid(points((128,), _BATCHES[:8]), mode="decode"),
            Grid(points((64,), (2, 4)), precision="bf16"),
        ),
    ),
    Row(
        302,
        "facebook/bart-base",
        _TEXT,
        "text_to_text",
        {"model_type": "bart", **_layers((6, 6), 768, 12, 3072)},
        "transformers",
        "seq",
        (Grid(points((16, 32, 64), (1, 2))),),
        (
            Grid((*points((16, 32), (4, 8)), (64, 4), (64, 8))),
            Grid(points((64,), (1, 2, 4, 6, 8)), mode="decode"),
        ),
    ),
    Row(
        304,
        "t5-parametric",
        _TEXT,
        "text_to_text",
        {"model_type": "t5", "d_kv": 64},
        "transformers",
        "seq",
        (Grid(((64, 1), (128, 4), (256, 1)), _T5_SIZES),),
        (
            Grid(
                (*points((64,), (2, 4, 8, 16, 32)), *points((128,), (1, 2, 8, 12)), *points((256,), (2, 3, 4))),
                _T5_SIZES,
            ),
            Grid(points((128,), (1, 2, 3, 4, 8, 16, 24)), _T5_SIZES, mode="decode"),
            Grid(points((64,), (1, 2, 3, 4, 6)), _T5_ANSWERS),
        ),
        parametric=True,
    ),
    _text(
        305,
        "google/mt5-small",
        Grid(points((64,), (1, 2, 4, 8))),
        Grid(points((64,), (1, 2, 4, 8)), mode="decode"),
        model_type="mt5",
    ),
    _text(306, "google/umt5-small", Grid(points((96,), (1, 2, 3, 6))), model_type="umt5"),
    _text(
        307,
        "Helsinki-NLP/opus-mt-en-de",
        Grid(points((48,), (1, 2, 4, 8, 16))),
        Grid(points((96,), (1, 2, 4, 8, 16)), mode="decode"),
        model_type="marian",
        pad_token_id=58100,
        **_layers((6, 6), 512, 8, 2048),
    ),
    _text(308, "facebook/mbart-large-cc25", Grid(points((32,), (1, 2, 3, 4))), model_type="mbart", vocab_size=250027),
    _text(
        309,
        "google/pegasus-large",
        Grid(points((64,), (1, 2, 3))),
        model_type="pegasus",
        vocab_size=96103,
        **_layers((16, 16), 1024, 16, 4096),
    ),
    _text(
        310,
        "google/pegasus-x-base",
        Grid(((512, 1),)),
        model_type="pegasus_x",
        **_layers((12, 12), 768, 12, 3072),
    ),
    _text(
        311,
        "google/long-t5-local-base",
        Grid(points((256,), (1, 2))),
        model_type="longt5",
        d_model=768,
        d_ff=2048,
        num_layers=12,
        num_heads=12,
        feed_forward_proj="gated-gelu",
    ),
    _text(
        312,
        "facebook/blenderbot_small-90M",
        Grid(points((64,), (1, 2, 4, 8))),
        Grid(points((64,), (1, 2, 4, 8)), mode="decode"),
        model_type="blenderbot-small",
    ),
    _text(313, "facebook/m2m100_418M", Grid(points((32,), (1, 2, 3, 4))), model_type="m2m_100"),
    _text(
        314, "microsoft/prophetnet-large-uncased", Grid(points((32,), (1, 2, 3))), model_type="prophetnet", _mask=False
    ),
    _text(
        315,
        "facebook/wmt19-en-de",
        Grid(points((24,), (1, 2, 4, 6))),
        model_type="fsmt",
        langs=["en", "de"],
        src_vocab_size=42024,
        tgt_vocab_size=42024,
        _decoder_mask=True,
        **_layers((6, 6), 1024, 16, 8192),
    ),
    _text(316, "uclanlp/plbart-base", Grid(points((128,), (1, 2, 3, 4, 6))), model_type="plbart"),
    parametric(
        317,
        "marian-parametric",
        _TEXT,
        "text_to_text",
        "seq",
        Grid(points((48,), _BATCHES[:8]), _MARIAN_SIZES),
        Grid(points((160,), (1, 2, 3, 4, 6, 8, 12, 16)), _MARIAN_SIZES, mode="decode"),
        arguments={"model_type": "marian", "vocab_size": 32000, "pad_token_id": 0},
    ),
    parametric(
        318,
        "bart-parametric",
        _TEXT,
        "text_to_text",
        "seq",
        Grid(points((96,), (1, 2, 3, 4, 6, 8, 12)), _BART_SIZES),
        Grid(points((256,), _BATCHES[:8]), _BART_SIZES[:2], mode="decode"),
        arguments={"model_type": "bart", "vocab_size": 32000},
    ),
)
