"""Recurrent forecasters of time series."""

import torch
from torch import Tensor, nn

from nnirp.catalog.builders.recurrent.gated import CELLS
from nnirp.catalog.registry import Built, Request, builder


class ProbabilisticForecaster(nn.Module):
    """DeepAR (Salinas et al., 2020): values and covariates of each step → mean and scale of the next value.

    The series is divided by its own mean first, so that series of any magnitude share the weights.
    """

    def __init__(self, cell: str, covariates: int, hidden_size: int, num_layers: int):
        super().__init__()
        self.recurrent = CELLS[cell](1 + covariates, hidden_size, num_layers, batch_first=True)
        self.mean = nn.Linear(hidden_size, 1)
        self.scale = nn.Linear(hidden_size, 1)

    def forward(self, values: Tensor, covariates: Tensor) -> tuple[Tensor, Tensor]:
        level = values.abs().mean(1, keepdim=True) + 1.0
        states = self.recurrent(torch.cat(((values / level)[..., None], covariates), dim=-1))[0]
        return self.mean(states)[..., 0] * level, nn.functional.softplus(self.scale(states))[..., 0] * level


class SkipForecaster(nn.Module):
    """LSTNet (Lai et al., 2018): convolution over time, a GRU, a GRU over every `skip`-th step, and a linear part."""

    def __init__(self, channels: int, filters: int, hidden_size: int, skip: int, skip_size: int, window: int):
        super().__init__()
        self.skip, self.window = skip, window
        self.convolution = nn.Conv2d(1, filters, (6, channels))
        self.recurrent = nn.GRU(filters, hidden_size, batch_first=True)
        self.skipping = nn.GRU(filters, skip_size, batch_first=True)
        self.head = nn.Linear(hidden_size + skip * skip_size, channels)
        self.linear = nn.Linear(window, 1)

    def forward(self, values: Tensor) -> Tensor:
        batch, _, channels = values.shape
        features = torch.relu(self.convolution(values[:, None]))[..., 0]  # [batch, filters, steps]
        filters, steps = features.shape[1:]
        states = self.recurrent(features.transpose(1, 2))[0][:, -1]
        periods = steps // self.skip
        phases = features[:, :, -periods * self.skip :].reshape(batch, filters, periods, self.skip)
        phases = phases.permute(0, 3, 2, 1).reshape(batch * self.skip, periods, filters)
        seasons = self.skipping(phases)[0][:, -1].reshape(batch, -1)
        recent = values[:, -self.window :].transpose(1, 2).reshape(batch * channels, self.window)
        return self.head(torch.cat((states, seasons), dim=-1)) + self.linear(recent).reshape(batch, channels)


@builder("probabilistic_forecaster")
def probabilistic_forecaster(request: Request) -> Built:
    """A recurrent forecaster over `size` steps."""
    covariates = request.arguments["covariates"]
    inputs = {
        "values": torch.randn(request.batch, request.size),
        "covariates": torch.randn(request.batch, request.size, covariates),
    }
    return ProbabilisticForecaster(**request.arguments), inputs


@builder("skip_forecaster")
def skip_forecaster(request: Request) -> Built:
    """LSTNet over `size` steps of all channels."""
    values = torch.randn(request.batch, request.size, request.arguments["channels"])
    return SkipForecaster(**request.arguments), {"values": values}
