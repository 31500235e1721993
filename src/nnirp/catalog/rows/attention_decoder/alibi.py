"""Causal language models with linear attention biases (ALiBi)."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_ALIBI, _LANGUAGE = "alibi_decoder", "causal_language_model"
_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_BLOOM_SIZES = zip_sweep(hidden_size=(256, 384, 512), n_layer=(4, 6, 8), n_head=(4, 6, 8))
_MPT_SIZES = zip_sweep(d_model=(192, 384, 768), n_layers=(4, 8, 4), n_heads=(3, 6, 12))
_FALCON_SIZES = zip_sweep(hidden_size=(256, 512), num_hidden_layers=(8, 5), num_attention_heads=(4, 8))

ROWS = (
    Row(
        105,
        "bloom-parametric",
        _ALIBI,
        _LANGUAGE,
        {"model_type": "bloom", "vocab_size": 32000, "attention": "eager"},
        "transformers",
        "seq",
        (Grid(points((32, 128), (1, 4)), _BLOOM_SIZES, mode="prefill"),),
        (
            Grid(
                (*points((32,), (2, 3, 6, 8, 12, 16, 24, 32)), *points((128,), (2, 3, 6, 8))),
                _BLOOM_SIZES,
                mode="prefill",
            ),
            Grid(points((128,), _BATCHES), _BLOOM_SIZES, mode="decode"),
        ),
        parametric=True,
    ),
    parametric(
        134,
        "mpt-parametric",
        _ALIBI,
        _LANGUAGE,
        "seq",
        Grid(points((64,), _BATCHES), _MPT_SIZES, mode="prefill"),
        Grid(points((192,), _BATCHES), _MPT_SIZES, mode="decode"),
        arguments={"model_type": "mpt"},
    ),
    parametric(
        135,
        "falcon-parametric",
        _ALIBI,
        _LANGUAGE,
        "seq",
        Grid(points((48,), _BATCHES), _FALCON_SIZES, mode="prefill"),
        Grid(points((96,), _BATCHES), _FALCON_SIZES, mode="decode"),
        # as in tiiuae/falcon-rw-1b
        arguments={
            "model_type": "falcon",
            "vocab_size": 50304,
            "alibi": True,
            "multi_query": False,
            "parallel_attn": False,
            "bias": True,
        },
    ),
    hub(
        136,
        "bigscience/bloom-560m",
        _ALIBI,
        _LANGUAGE,
        "seq",
        Grid(points((16,), (1, 2, 4)), mode="prefill"),
        Grid(points((128,), (1, 2, 3, 4, 6, 8)), mode="decode"),
        model_type="bloom",
        hidden_size=1024,
        n_layer=24,
        n_head=16,
    ),
)
