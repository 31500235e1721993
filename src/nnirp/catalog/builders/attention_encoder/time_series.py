"""Encoders of time series: values [batch, size, channels] → hidden states of patches."""

import torch

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


@builder("time_series_encoder")
def time_series_encoder(request: Request) -> Built:
    """An encoder whose context is made for the size."""
    model, configuration = create("AutoModel", request.arguments, context_length=request.size)
    values = torch.randn(request.batch, request.size, configuration.num_input_channels)
    return TensorOutputs(model, ("last_hidden_state",)), {"past_values": values}
