"""A small one-stage detector in the manner of YOLO, with any width and depth: anchor-free, with decoupled heads."""

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from nnirp.catalog.builders.detection.pixels import random_pixels
from nnirp.catalog.registry import Built, Request, builder

BOX_BINS = 16
"""Bins of the distribution that each side of a box is regressed as (Li et al., 2020)."""


def _unit(inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.SiLU()
    )


class CrossStage(nn.Module):
    """Half of the channels passes `depth` residual pairs of convolutions, every step is kept (Wang et al., 2020)."""

    def __init__(self, inputs: int, outputs: int, depth: int, shortcut: bool = True):
        super().__init__()
        self.half = outputs // 2
        self.shortcut = shortcut
        self.enter = _unit(inputs, 2 * self.half)
        self.steps = nn.ModuleList(
            nn.Sequential(_unit(self.half, self.half, 3), _unit(self.half, self.half, 3)) for _ in range(depth)
        )
        self.leave = _unit((2 + depth) * self.half, outputs)

    def forward(self, x: Tensor) -> Tensor:
        kept = list(self.enter(x).split(self.half, dim=1))
        for step in self.steps:
            result = step(kept[-1])
            kept.append(kept[-1] + result if self.shortcut else result)
        return self.leave(torch.cat(kept, dim=1))


class PooledContext(nn.Module):
    """Three poolings one after the other widen what a location sees (He et al., 2014)."""

    def __init__(self, channels: int):
        super().__init__()
        self.enter = _unit(channels, channels // 2)
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.leave = _unit(4 * (channels // 2), channels)

    def forward(self, x: Tensor) -> Tensor:
        kept = [self.enter(x)]
        for _ in range(3):
            kept.append(self.pool(kept[-1]))
        return self.leave(torch.cat(kept, dim=1))


class Yolo(nn.Module):
    """Pixels [b, 3, s, s] → per location at strides 8, 16 and 32 the bins of four sides and class logits.

    The output is [b, (s/8)² + (s/16)² + (s/32)², 4 · BOX_BINS + classes].
    """

    def __init__(self, width: int, depth: int, classes: int = 80):
        super().__init__()
        small, middle, large = widths = [4 * width, 8 * width, 16 * width]
        self.stem = nn.Sequential(
            _unit(3, width, 3, 2), _unit(width, 2 * width, 3, 2), CrossStage(2 * width, 2 * width, depth)
        )
        self.stages = nn.ModuleList(
            nn.Sequential(_unit(outputs // 2, outputs, 3, 2), CrossStage(outputs, outputs, depth)) for outputs in widths
        )
        self.context = PooledContext(large)
        self.up = nn.ModuleList(
            [
                CrossStage(large + middle, middle, depth, shortcut=False),
                CrossStage(middle + small, small, depth, shortcut=False),
            ]
        )
        self.shrink = nn.ModuleList([_unit(small, small, 3, 2), _unit(middle, middle, 3, 2)])
        self.down = nn.ModuleList(
            [
                CrossStage(small + middle, middle, depth, shortcut=False),
                CrossStage(middle + large, large, depth, shortcut=False),
            ]
        )
        self.boxes = nn.ModuleList(_head(channels, max(16, small // 4), 4 * BOX_BINS) for channels in widths)
        self.classes = nn.ModuleList(_head(channels, max(small, min(classes, 96)), classes) for channels in widths)

    def forward(self, pixel_values: Tensor) -> Tensor:
        maps = [self.stem(pixel_values)]
        for stage in self.stages:
            maps.append(stage(maps[-1]))
        _, fine, middle, coarse = maps
        coarse = self.context(coarse)
        middle = self.up[0](torch.cat([interpolate(coarse, scale_factor=2.0), middle], dim=1))
        fine = self.up[1](torch.cat([interpolate(middle, scale_factor=2.0), fine], dim=1))
        middle = self.down[0](torch.cat([self.shrink[0](fine), middle], dim=1))
        coarse = self.down[1](torch.cat([self.shrink[1](middle), coarse], dim=1))
        outputs = [
            torch.cat([boxes(x), classes(x)], dim=1).flatten(2)
            for boxes, classes, x in zip(self.boxes, self.classes, (fine, middle, coarse), strict=True)
        ]
        return torch.cat(outputs, dim=2).transpose(1, 2)


def _head(inputs: int, channels: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(_unit(inputs, channels, 3), _unit(channels, channels, 3), nn.Conv2d(channels, outputs, 1))


@builder("parametric_yolo")
def parametric_yolo(request: Request) -> Built:
    """A one-stage detector of any width and depth; the size is a multiple of 32."""
    return Yolo(**request.arguments), {"pixel_values": random_pixels(request)}
