"""Convolutional image classifiers: pixels [batch, 3, size, size] → class logits.

(being extended by its own author; leave alone)
"""

import torch
from torch import Tensor, nn

from nnirp.catalog.registry import Built, Request, builder


def _pixels(request: Request) -> dict[str, Tensor]:
    return {"x": torch.randn(request.batch, 3, request.size, request.size)}


@builder("timm_classifier")
def timm_classifier(request: Request) -> Built:
    """A timm architecture by its name."""
    import timm

    options = dict(request.arguments)
    return timm.create_model(options.pop("architecture"), **options), _pixels(request)


class ResidualBlock(nn.Module):
    """Two 3 × 3 convolutions with a shortcut (He et al., 2016)."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class InvertedResidual(nn.Module):
    """Pointwise expansion, depthwise convolution, linear projection (Sandler et al., 2018)."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int = 4, kernel: int = 3):
        super().__init__()
        hidden = inputs * expansion
        self.body = nn.Sequential(
            nn.Conv2d(inputs, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, hidden, kernel, stride, kernel // 2, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.same = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.same else self.body(x)


def _pyramid(block: type[nn.Module], width: int, depth: int, stages: int = 4, classes: int = 1000) -> nn.Module:
    """A stem, `stages` stages of `depth` blocks whose width doubles as the resolution halves, and a linear head."""
    layers: list[nn.Module] = [nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
    channels = width
    for stage in range(stages):
        for index in range(depth):
            outputs = width * 2**stage
            layers.append(block(channels, outputs, 2 if index == 0 else 1))
            channels = outputs
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]
    return nn.Sequential(*layers, *head)


class Classifier(nn.Module):
    """Gives a sequential network the keyword input `x`."""

    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)


@builder("parametric_residual")
def parametric_residual(request: Request) -> Built:
    """A residual network of any width, depth and number of stages."""
    return Classifier(_pyramid(ResidualBlock, **request.arguments)), _pixels(request)


@builder("parametric_inverted_residual")
def parametric_inverted_residual(request: Request) -> Built:
    """A network of inverted residuals of any width, depth and number of stages."""
    return Classifier(_pyramid(InvertedResidual, **request.arguments)), _pixels(request)
