"""The modules of the benchmark: timm's architectures and blocks of any width and depth, built as the catalog builds its samples."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from nnirp.catalog import building
from nnirp.catalog.builders import convolutional  # registers the builder of timm's architectures
from nnirp.catalog.registry import Built, Request, builder

HEAD_WIDTH = 32


def build(configuration: Any, sample: Any, device: str = "cpu") -> building.BuiltModel:
    """As `nnirp.catalog.build`, for the builders of this benchmark too."""
    registered_with = convolutional.__name__.rpartition(".")[2]
    return building.build(replace(configuration, family=registered_with), sample, device)


class SelfAttention(nn.Module):
    """Multi-head self-attention with one projection in and one out: x [batch, tokens, width] → the same shape."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = max(1, width // HEAD_WIDTH)
        self.project_in, self.project_out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        parts = self.project_in(x).reshape(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.project_out(mixed.transpose(1, 2).reshape(batch, tokens, width))


def _convolution(width: int, *, bias: bool) -> nn.Conv2d:
    return nn.Conv2d(width, width, 3, padding=1, bias=bias)


def _pixels(request: Request) -> dict[str, Tensor]:
    return {"x": torch.randn(request.batch, request.arguments["width"], request.size, request.size)}


def _tokens(request: Request) -> dict[str, Tensor]:
    return {"x": torch.randn(request.batch, request.size, request.arguments["width"])}


@builder("conv_blocks")
def conv_blocks(request: Request) -> Built:
    """`depth` times convolution, batch normalisation, rectifier."""
    width, depth = request.arguments["width"], request.arguments["depth"]
    blocks = [
        nn.Sequential(_convolution(width, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        for _ in range(depth)
    ]
    return convolutional.Classifier(nn.Sequential(*blocks)), _pixels(request)


@builder("mha_blocks")
def mha_blocks(request: Request) -> Built:
    """`depth` times self-attention, rectifier."""
    width, depth = request.arguments["width"], request.arguments["depth"]
    blocks = [nn.Sequential(SelfAttention(width), nn.ReLU(inplace=True)) for _ in range(depth)]
    return convolutional.Classifier(nn.Sequential(*blocks)), _tokens(request)


@builder("conv2d")
def conv2d(request: Request) -> Built:
    """One convolution."""
    return convolutional.Classifier(_convolution(request.arguments["width"], bias=True)), _pixels(request)


@builder("fully_connected")
def fully_connected(request: Request) -> Built:
    """One linear layer."""
    width = request.arguments["width"]
    return convolutional.Classifier(nn.Linear(width, width)), {"x": torch.randn(request.batch, width)}


@builder("self_attention")
def self_attention(request: Request) -> Built:
    """One self-attention layer."""
    return SelfAttention(request.arguments["width"]), _tokens(request)
