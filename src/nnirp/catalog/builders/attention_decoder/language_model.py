"""Causal language models: prefill of a prompt, and one decoding step with a cache of the past."""

import inspect

import torch

from nnirp.catalog.builders.attention_decoder.cache import CachedDecoding, random_past
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs, token_ids
from nnirp.catalog.registry import Built, Request, builder

#: What generation asks of a prefill, where a model has it: no copy of the cache, and the last token's logits alone.
PREFILL_OPTIONS = {"use_cache": False, "logits_to_keep": 1}


@builder("causal_language_model")
def causal_language_model(request: Request) -> Built:
    """Prefill: ids and mask [batch, size] → logits of the last token. Decode: one token more, `size` is the past.

    `_class` is the model's class where it is no automatic one; `_mask` is False for models that take no mask, "prefill" for
    those whose decoding takes none.
    """
    class_name = request.arguments.get("_class", "AutoModelForCausalLM")
    model, configuration = create(class_name, request.arguments)
    decodes = request.mode == "decode"
    new, known = (1, request.size) if decodes else (request.size, 0)
    vocabulary = configuration.get_text_config(decoder=True).vocab_size
    inputs = {"input_ids": token_ids(request.batch, new, vocabulary)}
    if (mask := request.arguments.get("_mask", True)) and not (decodes and mask == "prefill"):
        inputs["attention_mask"] = torch.ones(request.batch, known + new, dtype=torch.int64)
    if decodes:
        inputs |= random_past(class_name, request.arguments, request.batch, known)
        return CachedDecoding(model, known), inputs
    accepted = inspect.signature(model.forward).parameters
    options = {name: value for name, value in PREFILL_OPTIONS.items() if name in accepted}
    return TensorOutputs(model, ("logits",), **options), inputs
