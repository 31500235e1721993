"""Caches of the transformers library as plain tensors: keys and values, convolution windows, recurrent states."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from nnirp.catalog.builders.from_configuration import create

#: Tokens that are run to see what a model caches; no shape but the past's length depends on them.
PROBED_TOKENS = 2
#: The library's names of a cache in `forward`, the current one first.
CACHE_NAMES = ("cache", "past_key_values", "cache_params")


def cached_tensors(cache: Any) -> dict[str, Tensor]:
    """Return what a cache holds, by name.

    `past_key_<layer>` and `past_value_<layer>` are [batch, heads, past, dim], `conv_state_<layer>` [batch, channels, kernel] and
    `recurrent_state_<layer>` [batch, …]; a second state of one layer ends in `_1`.
    """
    tensors = {}
    for number, layer in enumerate(cache.layers):
        for what in ("key", "value"):
            held = getattr(layer, f"{what}s", None)
            if held is not None:
                tensors[f"past_{what}_{number}"] = held
        for what in ("conv", "recurrent"):
            for state, held in getattr(layer, f"{what}_states", {}).items():
                if held is not None:
                    tensors[_state_name(what, number, state)] = held
    return tensors


def filled_cache(configuration: Any, past: int, held: Mapping[str, Tensor]) -> Any:
    """Return a cache of `past` tokens that holds copies of tensors, by the names of `cached_tensors`."""
    from transformers import DynamicCache

    cache = DynamicCache(config=configuration)
    for number, layer in enumerate(cache.layers):
        if f"past_key_{number}" in held:
            layer.update(held[f"past_key_{number}"], held[f"past_value_{number}"])
            if is_sliding(layer):
                layer.cumulative_length = past
        for what in ("conv", "recurrent"):
            for state in getattr(layer, f"{what}_states", {}):
                if (tensor := held.get(_state_name(what, number, state))) is not None:
                    getattr(layer, f"update_{what}_state")(tensor, state)
    return cache


def random_past(class_name: str, arguments: dict[str, Any], batch: int, size: int) -> dict[str, Tensor]:
    """Return random tensors of the shapes that a model caches after `size` tokens, by the names of `cached_tensors`.

    A layer with a sliding window keeps the last of them only. The shapes come from a run on the meta device: there is no rule
    by which configurations of all architectures name heads, latent dimensions and states.
    """
    with torch.device("meta"), torch.no_grad():
        model, _ = create(class_name, arguments | {"attention": "eager"})  # another asks the mask's values
        ids = torch.zeros(batch, PROBED_TOKENS, dtype=torch.int64)
        cache = getattr(model.eval()(input_ids=ids, use_cache=True, return_dict=True), cache_name(model))
    past = {}
    for name, tensor in cached_tensors(cache).items():
        shape = list(tensor.shape)
        if name.startswith("past_"):
            layer = cache.layers[int(name.rsplit("_", 1)[-1])]
            shape[2] = min(size, layer.sliding_window - 1) if is_sliding(layer) else size
        past[name] = torch.randn(shape)
    return past


def cache_name(model: nn.Module) -> str:
    """Return the name that a model's forward pass gives its cache; raises StopIteration where it has none."""
    accepted = inspect.signature(model.forward).parameters
    return next(name for name in CACHE_NAMES if name in accepted)


class CachedDecoding(nn.Module):
    """One token after `past` tokens: what the model has cached of them are inputs, named as `cached_tensors` names them.

    Returns the logits of the new token and the cache after it, which the next token needs. The inputs stay as they are.
    """

    def __init__(self, model: nn.Module, past: int):
        super().__init__()
        self.model = model
        self.past = past
        self.cache_name = cache_name(model)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **held: Tensor) -> tuple[Tensor, ...]:
        cache = filled_cache(self.model.config, self.past, held)
        options = {self.cache_name: cache}
        if attention_mask is not None:
            options["attention_mask"] = attention_mask
        result = self.model(input_ids=input_ids, use_cache=True, return_dict=True, **options)
        return (result.logits, *cached_tensors(cache).values())

    def extra_repr(self) -> str:
        return f"past={self.past}"


def is_sliding(layer: Any) -> bool:
    """Whether a layer of a cache keeps only the last tokens."""
    return getattr(layer, "is_sliding", False)


def _state_name(what: str, layer: int, state: int) -> str:
    return f"{what}_state_{layer}_{state}" if state else f"{what}_state_{layer}"
