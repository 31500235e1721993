"""Modules that take keyword tensors and return plain tensors, whatever the library's own output classes are."""

import torch
from torch import Tensor, nn


class TensorOutputs(nn.Module):
    """Runs a transformers model with fixed options and returns the named outputs as a tensor or tuple of tensors."""

    def __init__(self, model: nn.Module, outputs: tuple[str, ...], **options):
        super().__init__()
        self.model = model
        self.outputs = outputs
        self.options = options

    def forward(self, **inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        result = self.model(**inputs, **self.options, return_dict=True)
        tensors = tuple(result[name] for name in self.outputs)
        return tensors[0] if len(tensors) == 1 else tensors

    def extra_repr(self) -> str:
        return f"outputs={', '.join(self.outputs)}"


class CachedDecoding(nn.Module):
    """One decoding step: keys and values of the past are inputs `past_key_<i>`, `past_value_<i>` [batch, heads, past, dim].

    Returns the logits of the new token and the grown keys and values, which the next step needs.
    """

    def __init__(self, model: nn.Module, layers: int):
        super().__init__()
        self.model = model
        self.layers = layers

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **past: Tensor) -> tuple[Tensor, ...]:
        from transformers import DynamicCache

        cache = DynamicCache([(past[f"past_key_{i}"], past[f"past_value_{i}"]) for i in range(self.layers)])
        result = self.model(
            input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True, return_dict=True
        )
        present = [t for layer in cache.layers for t in (layer.keys, layer.values)]
        return (result.logits, *present)


def token_ids(batch: int, length: int, vocabulary: int) -> Tensor:
    """Return random token ids int64 [batch, length], below 1,000 so that reserved high ids of a vocabulary never appear."""
    return torch.randint(min(10, vocabulary - 1), min(vocabulary, 1000), (batch, length))
