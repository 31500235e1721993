"""Forecasting: the past of a series through the encoder, the prediction window through the decoder."""

import torch

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


@builder("series_to_series")
def series_to_series(request: Request) -> Built:
    """A context of `size` steps and `prediction_length` known steps of the answer → hidden states of the decoder.

    The past is longer than the context by the largest lag; each step has `num_time_features` features of its date.
    """
    model, configuration = create("AutoModel", request.arguments, context_length=request.size)
    past = request.size + max(configuration.lags_sequence)
    future, features = configuration.prediction_length, configuration.num_time_features
    inputs = {
        "past_values": torch.rand(request.batch, past) + 0.5,
        "past_time_features": torch.randn(request.batch, past, features),
        "past_observed_mask": torch.ones(request.batch, past),
        "future_values": torch.rand(request.batch, future) + 0.5,
        "future_time_features": torch.randn(request.batch, future, features),
    }
    return TensorOutputs(model, ("last_hidden_state",), use_cache=False), inputs
