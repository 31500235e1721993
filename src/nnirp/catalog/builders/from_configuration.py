"""transformers models from a model type and configuration overrides, never from the hub."""

from typing import Any

import torch


def create(class_name: str, arguments: dict[str, Any], **overrides: Any):
    """Return (model, configuration) of `arguments["model_type"]`; the other arguments set configuration fields.

    `class_name` is an automatic class of the library, or a model's own class where no automatic one has it.
    Arguments that start with an underscore are the builder's own. `attention` chooses the implementation; by default it is
    the library's choice on a processor: scaled dot-product attention, "eager" where a model has no other.
    """
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    fields = {k: v for k, v in arguments.items() if k not in ("model_type", "attention") and not k.startswith("_")}
    configuration = CONFIG_MAPPING[arguments["model_type"]](**(fields | overrides))
    model_class = getattr(transformers, class_name)
    # Only automatic classes have a public one.
    make = getattr(model_class, "from_config", None) or model_class._from_config
    model = make(configuration, attn_implementation=arguments.get("attention"), dtype=torch.float32)
    # Some make parameters by torch.Tensor(…), which never follows the device.
    return model.to(torch.get_default_device()), configuration
