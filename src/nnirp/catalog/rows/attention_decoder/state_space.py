"""Causal language models with state spaces or linear recurrences, alone or beside attention.

Recurrences without a chunked form are written out token by token in a graph, so their prompts are short; a step is not.
"""

from nnirp.catalog.grids import Grid, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_STATE, _LANGUAGE = "state_space_decoder", "causal_language_model"
_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
#: What a state holds has no length: the past only says how many tokens came before.
_STEP = points((128,), _BATCHES)
_MAMBA_SIZES = zip_sweep(hidden_size=(256, 512, 768), num_hidden_layers=(6, 4, 2), state_size=(16, 32, 16))
_MAMBA2_SIZES = zip_sweep(
    hidden_size=(256, 512, 768), num_hidden_layers=(8, 6, 3), num_heads=(8, 16, 24), state_size=(64, 128, 128)
)
_GRIFFIN_SIZES = zip_sweep(
    hidden_size=(256, 512), num_hidden_layers=(6, 3), num_attention_heads=(4, 8), intermediate_size=(1536, 3072)
)
_FALCON_H1_SIZES = zip_sweep(
    hidden_size=(256, 512),
    num_hidden_layers=(8, 6),
    num_attention_heads=(4, 8),
    num_key_value_heads=(2, 2),
    intermediate_size=(512, 1024),
    mamba_d_ssm=(384, 768),
    mamba_n_heads=(6, 12),
)
_DELTA_SIZES = zip_sweep(
    hidden_size=(256, 512),
    num_hidden_layers=(8, 4),
    num_attention_heads=(4, 8),
    moe_intermediate_size=(64, 128),
    linear_num_key_heads=(2, 4),
    linear_num_value_heads=(4, 8),
)
_MAMBA2 = {"model_type": "mamba2", "vocab_size": 50288, "n_groups": 1, "tie_word_embeddings": True, "_mask": "prefill"}

ROWS = (
    hub(
        144,
        "state-spaces/mamba-130m-hf",
        _STATE,
        _LANGUAGE,
        "seq",
        Grid(points((8,), (1, 2, 3, 4, 8, 16)), mode="prefill"),
        Grid(_STEP, mode="decode"),
        model_type="mamba",
        num_hidden_layers=24,
        _mask="prefill",
    ),
    hub(
        145,
        "state-spaces/mamba-370m-hf",
        _STATE,
        _LANGUAGE,
        "seq",
        Grid(points((128,), (1, 2, 3, 4, 6, 8)), mode="decode"),
        model_type="mamba",
        hidden_size=1024,
        num_hidden_layers=48,
        _mask="prefill",
    ),
    parametric(
        146,
        "mamba-parametric",
        _STATE,
        _LANGUAGE,
        "seq",
        Grid(points((32,), _BATCHES), _MAMBA_SIZES, mode="prefill"),
        Grid(_STEP, _MAMBA_SIZES, mode="decode"),
        arguments={"model_type": "mamba", "_mask": "prefill"},
    ),
    hub(
        147,
        "AntonV/mamba2-130m-hf",
        _STATE,
        _LANGUAGE,
        "seq",
        Grid(_STEP, mode="decode"),
        hidden_size=768,
        num_hidden_layers=24,
        num_heads=24,
        **_MAMBA2,
    ),
    parametric(
        148,
        "mamba2-parametric",
        _STATE,
        _LANGUAGE,
        "seq",
        Grid((*points((64,), _BATCHES), *points((256,), (1, 2, 3, 4))), _MAMBA2_SIZES, mode="prefill"),
        Grid(_STEP, _MAMBA2_SIZES, mode="decode"),
        arguments={**_MAMBA2, "chunk_size": 64},
    ),
    hub(
        149,
        "RWKV/rwkv-4-169m-pile",
        _STATE,
        "receptance_weighted_key_value",
        "seq",
        Grid(points((8,), (1, 2, 3, 4, 8, 16)), mode="prefill"),
        Grid(((128, 1),), mode="decode"),
        model_type="rwkv",
        hidden_size=768,
        num_hidden_layers=12,
        rescale_every=0,  # halving of layers that half precision needs; it would change the weights in the pass
    ),
    parametric(
        150,
        "falcon-h1-parametric",
        _STATE,
        _LANGUAGE,
        "seq",
        Grid(_STEP, _FALCON_H1_SIZES, mode="decode"),
        arguments={"model_type": "falcon_h1", "vocab_size": 32784, "mamba_d_state": 64, "mamba_chunk_size": 64},
    ),
    hub(
        151,
        "ibm-granite/granite-4.0-h-350m",
        _STATE,
        _LANGUAGE,
        "seq",
        Grid(points((128,), (1, 2, 3, 4, 6, 8)), mode="decode"),
        model_type="granitemoehybrid",
        vocab_size=100352,
        hidden_size=768,
        intermediate_size=2048,
        shared_intermediate_size=2048,
        num_hidden_layers=32,
        num_attention_heads=12,
        num_key_value_heads=4,
        num_local_experts=0,
        num_experts_per_tok=0,
        layer_types=["full_attention" if i in (10, 13, 17, 27) else "linear_attention" for i in range(32)],
        mamba_n_heads=48,
        mamba_d_head=32,
        mamba_d_state=128,
        embedding_multiplier=12.0,
        attention_multiplier=0.015625,
        residual_multiplier=0.246,
        logits_scaling=3.0,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
    ),
    parametric(
        152,
        "recurrent-gemma-parametric",
        _STATE,
        "real_gated_recurrence",
        "seq",
        Grid(points((16,), (1, 2, 3, 4, 6, 8)), _GRIFFIN_SIZES, mode="prefill"),
        Grid(_STEP, _GRIFFIN_SIZES, mode="decode"),
        arguments={"model_type": "recurrent_gemma", "vocab_size": 50304, "num_key_value_heads": 1},
    ),
    parametric(
        153,
        "qwen3-next-parametric",
        _STATE,
        _LANGUAGE,
        "seq",
        # The library solves a triangular system in a prompt, which it writes out differently for an export.
        Grid(_STEP, _DELTA_SIZES, mode="decode"),
        arguments={
            "model_type": "qwen3_next",
            "vocab_size": 50304,
            "num_experts": 64,
            "num_experts_per_tok": 8,
            "head_dim": 64,
            "shared_expert_intermediate_size": 256,
            "linear_key_head_dim": 64,
            "linear_value_head_dim": 64,
            "experts_implementation": "batched_mm",
        },
    ),
)
