"""Builders of the tests: tiny models, and four that a campaign has to survive."""

import ctypes
import time
from types import SimpleNamespace

import torch


class Model(torch.nn.Module):
    def __init__(self, behaviour: str, width: int) -> None:
        super().__init__()
        self.behaviour, self.layer = behaviour, torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.behaviour == "raises":
            raise ValueError("no such shape")
        if self.behaviour == "sleeps":
            time.sleep(3600)
        if self.behaviour == "segfaults":
            ctypes.string_at(0)
        if self.behaviour == "allocates":
            held = []
            while True:
                held.append(torch.ones(16 << 20))
        return self.layer(x)


def build(configuration: SimpleNamespace, sample: SimpleNamespace, device: str = "cpu") -> SimpleNamespace:
    with torch.device(device):
        width = sample.arguments.get("width", 64)
        model = Model(sample.arguments.get("behaviour", "") if device == "cpu" else "", width)
        return SimpleNamespace(module=model, inputs={"x": torch.ones(sample.batch, sample.size, width)})
