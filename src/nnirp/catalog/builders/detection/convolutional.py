"""Published convolutional detectors with dense heads."""

from torch import Tensor, nn

from nnirp.catalog.builders.detection.pixels import random_pixels
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


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
    return DenseDetector(model.backbone, model.head), {"pixel_values": random_pixels(request)}


@builder("text_region_detector")
def text_region_detector(request: Request) -> Built:
    """A convolutional transformers model whose output is a map of scores: pixels → [batch, 1, size, size]."""
    model, _ = create("AutoModelForObjectDetection", request.arguments)
    return TensorOutputs(model, ("last_hidden_state",)), {"pixel_values": random_pixels(request)}
