"""Audio encoders: waveforms or spectrograms → hidden states or class logits."""

import torch

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder

#: Masking spans is for training; its embedding would be allocated outside of the meta device.
NO_MASKING = {"mask_time_prob": 0.0, "mask_feature_prob": 0.0}


@builder("waveform_encoder")
def waveform_encoder(request: Request) -> Built:
    """Waveform at 16 kHz [batch, size] → hidden states [batch, size / 320, width]."""
    model, _ = create("AutoModel", request.arguments, **NO_MASKING)
    return TensorOutputs(model, ("last_hidden_state",)), {"input_values": torch.randn(request.batch, request.size)}


@builder("spectrogram_classifier")
def spectrogram_classifier(request: Request) -> Built:
    """Spectrogram [batch, size, mel bands] → class logits; positions are made for the size."""
    model, configuration = create("AutoModelForAudioClassification", request.arguments, max_length=request.size)
    spectrogram = torch.randn(request.batch, request.size, configuration.num_mel_bins)
    return TensorOutputs(model, ("logits",)), {"input_values": spectrogram}


@builder("filter_bank_encoder")
def filter_bank_encoder(request: Request) -> Built:
    """Mel features [batch, size, bands] without padding → hidden states."""
    model, configuration = create("AutoModel", request.arguments, **NO_MASKING)
    bands = getattr(configuration, "num_mel_bins", None) or configuration.feature_projection_input_dim
    features = torch.randn(request.batch, request.size, bands)
    return TensorOutputs(model, ("last_hidden_state",)), {"input_features": features}
