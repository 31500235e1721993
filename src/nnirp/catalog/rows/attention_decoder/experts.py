"""Causal language models with routed experts.

Their experts run as one batched product over gathered weights, the library's only form whose shapes no value decides: each token
copies the weights of its experts, so prompts are short.
"""

from nnirp.catalog.grids import Grid, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_EXPERTS, _LANGUAGE = "mixture_of_experts_decoder", "causal_language_model"
_BATCHED = {"experts_implementation": "batched_mm"}
_PROMPT = points((16,), (1, 2, 3, 4, 6, 8))
_STEP = points((128,), (1, 2, 3, 4, 6, 8, 12, 16, 24, 32))
_MIXTRAL_SIZES = zip_sweep(
    hidden_size=(256, 384, 512),
    num_hidden_layers=(3, 6, 4),
    num_attention_heads=(4, 6, 8),
    num_key_value_heads=(2, 2, 8),
    intermediate_size=(896, 768, 1536),
)
_OLMOE_SIZES = zip_sweep(
    hidden_size=(256, 512), num_hidden_layers=(6, 4), num_attention_heads=(4, 8), intermediate_size=(128, 256)
)
_QWEN2_SIZES = zip_sweep(
    hidden_size=(256, 512),
    num_hidden_layers=(4, 3),
    num_attention_heads=(4, 8),
    num_key_value_heads=(4, 8),
    moe_intermediate_size=(176, 352),
    shared_expert_intermediate_size=(704, 1408),
)
_DEEPSEEK_SIZES = zip_sweep(
    hidden_size=(256, 512),
    num_hidden_layers=(4, 3),
    num_attention_heads=(4, 8),
    num_key_value_heads=(4, 8),
    intermediate_size=(704, 1408),
    moe_intermediate_size=(128, 192),
    q_lora_rank=(96, 192),
    kv_lora_rank=(64, 128),
)
_GPT_OSS_SIZES = zip_sweep(
    hidden_size=(256, 448),
    num_hidden_layers=(4, 4),
    num_attention_heads=(8, 14),
    num_key_value_heads=(2, 2),
    intermediate_size=(256, 448),
)

ROWS = (
    parametric(
        137,
        "mixtral-parametric",
        _EXPERTS,
        _LANGUAGE,
        "seq",
        Grid(_PROMPT, _MIXTRAL_SIZES, mode="prefill"),
        Grid(_STEP, _MIXTRAL_SIZES, mode="decode"),
        arguments={"model_type": "mixtral", **_BATCHED},
    ),
    parametric(
        138,
        "olmoe-parametric",
        _EXPERTS,
        _LANGUAGE,
        "seq",
        Grid(_PROMPT, _OLMOE_SIZES, mode="prefill"),
        Grid(_STEP, _OLMOE_SIZES, mode="decode"),
        arguments={"model_type": "olmoe", **_BATCHED},
    ),
    parametric(
        139,
        "qwen2-moe-parametric",
        _EXPERTS,
        _LANGUAGE,
        "seq",
        Grid(_PROMPT, _QWEN2_SIZES, mode="prefill"),
        Grid(_STEP, _QWEN2_SIZES, mode="decode"),
        arguments={"model_type": "qwen2_moe", "vocab_size": 32000, **_BATCHED},
    ),
    parametric(
        140,
        "deepseek-v3-parametric",
        _EXPERTS,
        _LANGUAGE,
        "seq",
        Grid(_PROMPT, _DEEPSEEK_SIZES, mode="prefill"),
        Grid(_STEP, _DEEPSEEK_SIZES, mode="decode"),
        arguments={
            "model_type": "deepseek_v3",
            "vocab_size": 32000,
            "n_routed_experts": 64,
            "first_k_dense_replace": 1,
            "qk_nope_head_dim": 64,
            "qk_rope_head_dim": 32,
            "v_head_dim": 64,
            **_BATCHED,
        },
    ),
    parametric(
        141,
        "gpt-oss-parametric",
        _EXPERTS,
        _LANGUAGE,
        "seq",
        Grid(_PROMPT, _GPT_OSS_SIZES, mode="prefill"),
        Grid(_STEP, _GPT_OSS_SIZES, mode="decode"),
        arguments={"model_type": "gpt_oss", "vocab_size": 50304, "num_local_experts": 32, **_BATCHED},
    ),
    hub(
        142,
        "Isotonic/smol_llama-4x220M-MoE",
        _EXPERTS,
        _LANGUAGE,
        "seq",
        Grid(points((128,), (1, 2, 3, 4)), mode="decode"),
        model_type="mixtral",
        vocab_size=32128,
        hidden_size=1024,
        intermediate_size=4096,
        num_hidden_layers=10,
        num_attention_heads=32,
        num_key_value_heads=8,
        num_local_experts=4,
        max_position_embeddings=2048,
        **_BATCHED,
    ),
    hub(
        143,
        "ibm-granite/granite-3.0-1b-a400m-base",
        _EXPERTS,
        _LANGUAGE,
        "seq",
        Grid(points((64,), (1, 2, 3, 4)), mode="decode", precision="bf16"),
        model_type="granitemoe",
        vocab_size=49155,
        hidden_size=1024,
        intermediate_size=512,
        num_hidden_layers=24,
        num_attention_heads=16,
        num_key_value_heads=8,
        num_local_experts=32,
        num_experts_per_tok=8,
        max_position_embeddings=4096,
        embedding_multiplier=12.0,
        attention_multiplier=0.015625,
        residual_multiplier=0.22,
        logits_scaling=6.0,
        tie_word_embeddings=True,
        **_BATCHED,
    ),
)
