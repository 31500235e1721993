"""Memory targets: arithmetic on the graph as the base, a learned residual on top."""

import numpy as np
import torch
from torch import Tensor, nn

from nnirp.predictors.linear import fit_prices

_MIB = float(1 << 20)


def is_memory(target: str) -> bool:
    """Whether a target is a peak of memory in MB, by its name."""
    return target.endswith("_mb") or "ram" in target.split("_")


def analytic_mb(memory: Tensor) -> Tensor:
    """[G, 4] in MB of `memory` [G, 4] in log2(1 + bytes); 0 where unknown."""
    return torch.nan_to_num((torch.exp2(memory.double()) - 1) / _MIB).float()


class MemoryHead(nn.Module):
    """log2 of base × residual: the base is constant + a · weights + b · peak live activations + c · largest tensor (MB), its
    non-negative prices fitted by least squares of the relative error; the residual a small perceptron on the logarithms of
    their shares, within a factor of 2.
    """

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("prices", torch.tensor([1.0, 1.0, 1.0, 1.0]))
        self.register_buffer("center", torch.zeros(4))
        self.residual = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
        nn.init.zeros_(self.residual[-1].weight)
        nn.init.zeros_(self.residual[-1].bias)

    def measure(self, memory: np.ndarray, y: np.ndarray) -> None:
        """Fit the base on labels [n] in log2."""
        known = np.isfinite(y)
        if known.any():
            columns = self._columns(torch.from_numpy(memory[known])).double().numpy()
            prices = fit_prices(columns, np.exp2(y[known].astype(np.float64)))
            self.prices.copy_(torch.from_numpy(prices))
            self.center.copy_(torch.log2(1 + self._columns(torch.from_numpy(memory[known]))).mean(0))

    def forward(self, memory: Tensor) -> Tensor:
        columns = self._columns(memory)
        base = torch.log2((columns @ self.prices).clamp(min=1e-3))
        return base + torch.tanh(self.residual((torch.log2(1 + columns) - self.center) / 4)).squeeze(1)

    @staticmethod
    def _columns(memory: Tensor) -> Tensor:
        mb = analytic_mb(memory)
        return torch.stack([torch.ones_like(mb[:, 0]), mb[:, 0], mb[:, 1], mb[:, 3]], dim=1)
