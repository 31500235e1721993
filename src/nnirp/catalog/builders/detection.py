"""Object detectors up to their raw boxes and scores; the post-processing, whose shapes depend on data, is left out.

(being extended by its own author; leave alone)
"""

import torch
from torch import Tensor, nn

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


def _pixels(request: Request) -> Tensor:
    return torch.randn(request.batch, 3, request.size, request.size)


class DenseDetector(nn.Module):
    """Backbone and heads of a torchvision detector: everything before anchors are decoded and suppressed."""

    def __init__(self, backbone: nn.Module, head: nn.Module):
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(self, pixel_values: Tensor) -> tuple[Tensor, ...]:
        outputs = self.head(list(self.backbone(pixel_values).values()))
        return tuple(outputs[name] for name in sorted(outputs))


@builder("torchvision_dense_detector")
def torchvision_dense_detector(request: Request) -> Built:
    """A one-stage torchvision detector by its name: pixels [batch, 3, size, size] → box regressions and class logits."""
    from torchvision.models import get_model

    model = get_model(request.arguments["architecture"], weights=None, weights_backbone=None)
    return DenseDetector(model.backbone, model.head), {"pixel_values": _pixels(request)}


@builder("query_detector")
def query_detector(request: Request) -> Built:
    """A DETR-like transformers model: pixels [batch, 3, size, size] and their mask → logits and boxes of the queries."""
    model, _ = create("AutoModelForObjectDetection", request.arguments)
    inputs = {"pixel_values": _pixels(request)}
    if request.arguments.get("_pixel_mask", True):
        inputs["pixel_mask"] = torch.ones(request.batch, request.size, request.size, dtype=torch.int64)
    return TensorOutputs(model, ("logits", "pred_boxes")), inputs


@builder("vision_transformer_detector")
def vision_transformer_detector(request: Request) -> Built:
    """A plain vision transformer with detection tokens, its positions made for the size: pixels → logits and boxes."""
    model, _ = create("AutoModelForObjectDetection", request.arguments, image_size=[request.size, request.size])
    return TensorOutputs(model, ("logits", "pred_boxes")), {"pixel_values": _pixels(request)}
