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


def token_ids(batch: int, length: int, vocabulary: int) -> Tensor:
    """Return random token ids int64 [batch, length], below 1,000 so that reserved high ids of a vocabulary never appear."""
    return torch.randint(min(10, vocabulary - 1), min(vocabulary, 1000), (batch, length))
