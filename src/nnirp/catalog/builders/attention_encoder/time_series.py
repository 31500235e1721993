"""Encoders of time series: values of `size` steps → hidden states of patches."""

import torch

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


@builder("time_series_encoder")
def time_series_encoder(request: Request) -> Built:
    """Values [batch, size, channels], the context made for the size."""
    model, configuration = create("AutoModel", request.arguments, context_length=request.size)
    values = torch.randn(request.batch, request.size, configuration.num_input_channels)
    return TensorOutputs(model, ("last_hidden_state",)), {"past_values": values}


@builder("univariate_encoder")
def univariate_encoder(request: Request) -> Built:
    """Values [batch, size] of one channel each."""
    model, _ = create("AutoModel", request.arguments)
    return TensorOutputs(model, ("last_hidden_state",)), {"past_values": torch.randn(request.batch, request.size)}
