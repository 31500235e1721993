"""Causal language models: prefill of a prompt, and one decoding step with a cache of keys and values."""

import torch

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import CachedDecoding, TensorOutputs, token_ids
from nnirp.catalog.registry import Built, Request, builder


@builder("causal_language_model")
def causal_language_model(request: Request) -> Built:
    """Prefill: ids and mask [batch, size] → logits of the last token, as generation needs. Decode: size is the past."""
    model, configuration = create("AutoModelForCausalLM", request.arguments)
    text = configuration.get_text_config(decoder=True)
    if request.mode != "decode":
        inputs = {
            "input_ids": token_ids(request.batch, request.size, text.vocab_size),
            "attention_mask": torch.ones(request.batch, request.size, dtype=torch.int64),
        }
        return TensorOutputs(model, ("logits",), use_cache=False, logits_to_keep=1), inputs
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    dimension = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    inputs = {
        "input_ids": token_ids(request.batch, 1, text.vocab_size),
        "attention_mask": torch.ones(request.batch, request.size + 1, dtype=torch.int64),
    }
    for layer in range(text.num_hidden_layers):
        inputs[f"past_key_{layer}"] = torch.randn(request.batch, heads, request.size, dimension)
        inputs[f"past_value_{layer}"] = torch.randn(request.batch, heads, request.size, dimension)
    return CachedDecoding(model, text.num_hidden_layers), inputs
