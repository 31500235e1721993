"""Plain vision transformers that detect: with tokens, with a text for every class, with a pyramid and a dense head."""

import torch
from torch import Tensor, nn

from nnirp.catalog.builders.detection.pixels import random_pixels
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs, token_ids
from nnirp.catalog.registry import Built, Request, builder


@builder("vision_transformer_detector")
def vision_transformer_detector(request: Request) -> Built:
    """A plain vision transformer with detection tokens, its positions made for the size: pixels → logits and boxes."""
    model, _ = create("AutoModelForObjectDetection", request.arguments, image_size=[request.size, request.size])
    return TensorOutputs(model, ("logits", "pred_boxes")), {"pixel_values": random_pixels(request)}


@builder("open_vocabulary_detector")
def open_vocabulary_detector(request: Request) -> Built:
    """A vision transformer whose classes are texts: pixels and `_queries` texts an image → logits and boxes of the patches."""
    vision = request.arguments.get("vision_config", {}) | {"image_size": request.size}
    model, configuration = create("AutoModelForZeroShotObjectDetection", request.arguments, vision_config=vision)
    text = configuration.text_config
    rows = request.batch * request.arguments["_queries"]
    inputs = {
        "input_ids": token_ids(rows, text.max_position_embeddings, text.vocab_size),
        "attention_mask": torch.ones(rows, text.max_position_embeddings, dtype=torch.int64),
        "pixel_values": random_pixels(request),
    }
    return TensorOutputs(model, ("logits", "pred_boxes")), inputs


class SimpleFeaturePyramid(nn.Module):
    """Maps at strides 4, 8, 16 and 32 from one map at stride 16 (Li et al., 2022): [b, inputs, h, w] → four [b, outputs, …]."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        half, quarter = inputs // 2, inputs // 4
        twice = [nn.ConvTranspose2d(inputs, half, 2, 2)]
        fourfold = [
            nn.ConvTranspose2d(inputs, half, 2, 2),
            nn.GroupNorm(1, half),
            nn.GELU(),
            nn.ConvTranspose2d(half, quarter, 2, 2),
        ]
        resized = ((fourfold, quarter), (twice, half), ([], inputs), ([nn.MaxPool2d(2)], inputs))
        self.levels = nn.ModuleList(
            nn.Sequential(
                *layers,
                nn.Conv2d(channels, outputs, 1, bias=False),
                nn.GroupNorm(1, outputs),
                nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
                nn.GroupNorm(1, outputs),
            )
            for layers, channels in resized
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        return [level(x) for level in self.levels]


class PlainBackboneDetector(nn.Module):
    """A vision transformer with windows, a simple feature pyramid and a dense head: pixels → boxes and class logits."""

    def __init__(self, backbone: nn.Module, pyramid: nn.Module, head: nn.Module):
        super().__init__()
        self.backbone = backbone
        self.pyramid = pyramid
        self.head = head

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, ...]:
        outputs = self.head(self.pyramid(self.backbone(pixel_values, return_dict=True).feature_maps[-1]))
        return tuple(outputs[name] for name in sorted(outputs))


@builder("plain_backbone_detector")
def plain_backbone_detector(request: Request) -> Built:
    """A ViTDet backbone, its pyramid of `_pyramid` channels and torchvision's FCOS head with half of its convolutions."""
    from torchvision.models.detection.fcos import FCOSHead

    backbone, configuration = create("AutoBackbone", request.arguments, image_size=request.size)
    channels = request.arguments["_pyramid"]
    pyramid = SimpleFeaturePyramid(configuration.hidden_size, channels)
    return PlainBackboneDetector(backbone, pyramid, FCOSHead(channels, 1, 91, 2)), {
        "pixel_values": random_pixels(request)
    }
