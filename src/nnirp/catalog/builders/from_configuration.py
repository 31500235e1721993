"""transformers models from a model type and configuration overrides, never from the hub."""

from typing import Any

import torch

#: Scaled dot-product attention is what the library runs by default on a processor; the exporter decomposes it.
ATTENTION = "sdpa"


def create(auto_class: str, arguments: dict[str, Any], **overrides: Any):
    """Return (model, configuration) of `arguments["model_type"]`; the other arguments set configuration fields.

    Arguments that start with an underscore are the builder's own. `attention` chooses the implementation.
    """
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    fields = {k: v for k, v in arguments.items() if k not in ("model_type", "attention") and not k.startswith("_")}
    configuration = CONFIG_MAPPING[arguments["model_type"]](**(fields | overrides))
    model = getattr(transformers, auto_class).from_config(
        configuration, attn_implementation=arguments.get("attention", ATTENTION), dtype=torch.float32
    )
    return model, configuration
