import pytest
import torch
from torch import nn

from nnirp.graphs.export import export_graph


class Small(nn.Module):
    """A convolution with batch norm, a mask that must survive as a constant, and a tied weight."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        mask = torch.ones(8, 8, device=x.device).tril()
        scores = self.second(self.first(y)).masked_fill(mask == 0, -1e4)
        return scores.softmax(-1)


@pytest.fixture(scope="session")
def exported():
    """(graph, module on the processor, its inputs)."""
    torch.manual_seed(0)
    with torch.device("meta"):
        graph = export_graph(Small().eval(), {"x": torch.zeros(2, 3, 8, 8)})
    return graph, Small().eval(), {"x": torch.randn(2, 3, 8, 8)}
