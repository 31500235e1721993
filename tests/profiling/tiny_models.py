"""Builders of the tests: tiny models, and four that a campaign has to survive."""

import ctypes
import time
from types import SimpleNamespace

import torch

LATER = 60  # calls: after preparing, which takes 4 and the warm-up of at most 50


class Model(torch.nn.Module):
    def __init__(self, behaviour: str, width: int) -> None:
        super().__init__()
        self.behaviour, self.layer, self.calls = behaviour, torch.nn.Linear(width, width), [0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.behaviour == "raises":
            raise ValueError("no such shape")
        if self.behaviour == "sleeps":
            time.sleep(3600)
        self.calls[0] += 1  # in a list, which is no setting of the network
        if self.behaviour == "segfaults" or (self.behaviour == "segfaults later" and self.calls[0] > LATER):
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
