"""Convolutional networks: pixels [batch, 3, size, size] → class logits, for a U-Net a map of them."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


def _pixels(request: Request) -> dict[str, Tensor]:
    return {"x": torch.randn(request.batch, 3, request.size, request.size)}


@builder("timm_classifier")
def timm_classifier(request: Request) -> Built:
    """A timm architecture by its name."""
    import timm

    options = dict(request.arguments)
    return timm.create_model(options.pop("architecture"), **options), _pixels(request)


@builder("torchvision_classifier")
def torchvision_classifier(request: Request) -> Built:
    """A torchvision architecture by its name."""
    from torchvision.models import get_model

    return get_model(request.arguments["architecture"], weights=None), _pixels(request)


@builder("convolutional_classifier")
def convolutional_classifier(request: Request) -> Built:
    """A transformers image classifier; `_output` names what it returns, "logits" by default."""
    model, _ = create("AutoModelForImageClassification", request.arguments)
    output = request.arguments.get("_output", "logits")
    return TensorOutputs(model, (output,)), {"pixel_values": _pixels(request)["x"]}


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


def _pyramid(
    block: type[nn.Module], width: int, depth: int, stages: int = 4, classes: int = 1000, **options: int
) -> nn.Module:
    """A stem, `stages` stages of `depth` blocks whose width doubles as the resolution halves, and a linear head.

    `options` are the block's.
    """
    layers: list[nn.Module] = [nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
    channels = width
    for stage in range(stages):
        for index in range(depth):
            outputs = width * 2**stage
            layers.append(block(channels, outputs, 2 if index == 0 else 1, **options))
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
    """A network of inverted residuals of any width, depth and number of stages, expansion and kernel."""
    return Classifier(_pyramid(InvertedResidual, **request.arguments)), _pixels(request)


@builder("parametric_plain")
def parametric_plain(request: Request) -> Built:
    """A network without shortcuts or normalisation, as VGG is, of any width, depth, number of stages and kernel."""
    width, depth, stages, kernel = (request.arguments[name] for name in ("width", "depth", "stages", "kernel"))
    layers: list[nn.Module] = []
    channels = 3
    for stage in range(stages):
        for _ in range(depth):
            outputs = width * 2**stage
            layers += [nn.Conv2d(channels, outputs, kernel, 1, kernel // 2), nn.ReLU(inplace=True)]
            channels = outputs
        layers.append(nn.MaxPool2d(2))
    head = [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * channels, 1024), nn.ReLU(), nn.Linear(1024, 1000)]
    return Classifier(nn.Sequential(*layers, *head)), _pixels(request)


def _double_convolution(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """An encoder and a decoder joined by skip connections (Ronneberger et al., 2015): x [b, 3, h, w] → [b, classes, h, w]."""

    def __init__(self, width: int, levels: int, classes: int = 21):
        super().__init__()
        widths = [width * 2**level for level in range(levels + 1)]
        pairs = list(pairwise(widths))
        self.stem = _double_convolution(3, width)
        self.down = nn.ModuleList(_double_convolution(fine, coarse) for fine, coarse in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(coarse, fine, 2, 2) for fine, coarse in reversed(pairs))
        self.merge = nn.ModuleList(_double_convolution(2 * fine, fine) for fine, _ in reversed(pairs))
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = [self.stem(x)]
        for down in self.down:
            skips.append(down(self.pool(skips[-1])))
        x = skips.pop()
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat([up(x), skips.pop()], dim=1))
        return self.head(x)


@builder("parametric_unet")
def parametric_unet(request: Request) -> Built:
    """A U-Net of any width and number of levels."""
    return UNet(**request.arguments), _pixels(request)


@builder("parametric_bottleneck")
def parametric_bottleneck(request: Request) -> Built:
    """timm's residual network of bottlenecks with any layers a stage, groups (`cardinality`) and width of a group."""
    from timm.models.resnet import Bottleneck, ResNet

    return ResNet(Bottleneck, **request.arguments), _pixels(request)


@builder("parametric_regnet")
def parametric_regnet(request: Request) -> Built:
    """timm's RegNet from the parameters of its design space."""
    from timm.models.regnet import RegNet, RegNetCfg

    return RegNet(RegNetCfg(**request.arguments)), _pixels(request)


@builder("parametric_densenet")
def parametric_densenet(request: Request) -> Built:
    """timm's DenseNet of any growth rate and layers a block."""
    from timm.models.densenet import DenseNet

    return DenseNet(**request.arguments), _pixels(request)


@builder("parametric_convnext")
def parametric_convnext(request: Request) -> Built:
    """timm's ConvNeXt of any depths, widths and kernel."""
    from timm.models.convnext import ConvNeXt

    return ConvNeXt(**request.arguments), _pixels(request)
