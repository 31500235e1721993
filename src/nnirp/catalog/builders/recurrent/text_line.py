"""Text lines: convolutional features of an image read by recurrent layers."""

import torch
from torch import Tensor, nn

from nnirp.catalog.builders.recurrent.gated import CELLS
from nnirp.catalog.registry import Built, Request, builder


class ConvolutionalRecurrentRecogniser(nn.Module):
    """Convolutions over a text line [batch, 1, 32, width], then bidirectional layers over its columns (Shi et al., 2017)."""

    def __init__(self, hidden_size: int, num_layers: int, classes: int, width: int = 64, cell: str = "lstm"):
        super().__init__()
        w = width
        plan = (
            (1, w, (2, 2)),
            (w, 2 * w, (2, 2)),
            (2 * w, 4 * w, (2, 1)),
            (4 * w, 8 * w, (2, 1)),
            (8 * w, 8 * w, (2, 1)),
        )
        layers: list[nn.Module] = []
        for inputs, outputs, pool in plan:
            layers += [nn.Conv2d(inputs, outputs, 3, 1, 1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
            layers.append(nn.MaxPool2d(pool))
        self.features = nn.Sequential(*layers)
        self.recurrent = CELLS[cell](8 * w, hidden_size, num_layers, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden_size, classes)

    def forward(self, image: Tensor) -> Tensor:
        columns = self.features(image).squeeze(2).transpose(1, 2)
        return self.head(self.recurrent(columns)[0])


@builder("convolutional_recurrent_recogniser")
def convolutional_recurrent_recogniser(request: Request) -> Built:
    """A text-line recogniser over an image 32 pixels high and `size` wide."""
    return ConvolutionalRecurrentRecogniser(**request.arguments), {
        "image": torch.randn(request.batch, 1, 32, request.size)
    }
