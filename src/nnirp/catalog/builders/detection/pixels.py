"""The images that every detector reads."""

import torch
from torch import Tensor

from nnirp.catalog.registry import Request


def random_pixels(request: Request) -> Tensor:
    """Return float32 [batch, 3, size, size]."""
    return torch.randn(request.batch, 3, request.size, request.size)
