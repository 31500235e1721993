"""Source configurations 101–199: causal language models."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep

_LLAMA_SIZES = zip_sweep(
    hidden_size=(256, 256, 512, 512, 768),
    num_hidden_layers=(4, 8, 4, 8, 6),
    num_attention_heads=(4, 8, 8, 8, 12),
    num_key_value_heads=(4, 2, 8, 4, 4),
    intermediate_size=(688, 688, 1376, 1376, 2048),
)
_BLOOM_SIZES = zip_sweep(hidden_size=(256, 384, 512), n_layer=(4, 6, 8), n_head=(4, 6, 8))

ROWS = (
    Row(
        101,
        "openai-community/gpt2",
        "absolute_position_decoder",
        "causal_language_model",
        {"model_type": "gpt2"},
        "transformers",
        "seq",
        (
            Grid(points((16, 32, 64, 128), (1, 2)), mode="prefill"),
            Grid(points((64, 256), (1, 4)), mode="decode"),
            Grid(points((32,), (1, 2)), mode="prefill", precision="bf16"),
        ),
    ),
    Row(
        102,
        "facebook/opt-125m",
        "absolute_position_decoder",
        "causal_language_model",
        {"model_type": "opt"},
        "transformers",
        "seq",
        (Grid(points((16, 32, 64, 128), (1, 2)), mode="prefill"),),
    ),
    Row(
        103,
        "HuggingFaceTB/SmolLM-135M",
        "rotary_position_decoder",
        "causal_language_model",
        {
            "model_type": "llama",
            "vocab_size": 49152,
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "max_position_embeddings": 2048,
            "tie_word_embeddings": True,
        },
        "transformers",
        "seq",
        (Grid(points((16, 64), (1, 2)), mode="prefill"), Grid(points((128,), (1, 4)), mode="decode")),
    ),
    Row(
        104,
        "llama-parametric",
        "rotary_position_decoder",
        "causal_language_model",
        {"model_type": "llama", "vocab_size": 32000, "max_position_embeddings": 2048},
        "transformers",
        "seq",
        (
            Grid(((32, 1), (128, 1), (128, 2)), _LLAMA_SIZES, mode="prefill"),
            Grid(((256, 1), (256, 8)), _LLAMA_SIZES[2:], mode="decode"),
        ),
        parametric=True,
    ),
    Row(
        105,
        "bloom-parametric",
        "alibi_decoder",
        "causal_language_model",
        {"model_type": "bloom", "vocab_size": 32000, "attention": "eager"},
        "transformers",
        "seq",
        (Grid(points((32, 128), (1, 4)), _BLOOM_SIZES, mode="prefill"),),
        parametric=True,
    ),
)
