"""Encoders of text, images, audio and time series."""

import torch

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs, token_ids
from nnirp.catalog.registry import Built, Request, builder


@builder("text_encoder")
def text_encoder(request: Request) -> Built:
    """Ids and mask [batch, size] → hidden states [batch, size, width]."""
    model, configuration = create("AutoModel", request.arguments)
    inputs = {
        "input_ids": token_ids(request.batch, request.size, configuration.vocab_size),
        "attention_mask": torch.ones(request.batch, request.size, dtype=torch.int64),
    }
    return TensorOutputs(model, ("last_hidden_state",)), inputs


@builder("timm_vision_transformer")
def timm_vision_transformer(request: Request) -> Built:
    """Pixels [batch, 3, size, size] → class logits; positions and windows are made for the size."""
    import timm

    options = dict(request.arguments)
    model = timm.create_model(options.pop("architecture"), img_size=request.size, **options)
    return model, {"x": torch.randn(request.batch, 3, request.size, request.size)}


@builder("timm_hybrid")
def timm_hybrid(request: Request) -> Built:
    """Pixels [batch, 3, size, size] → class logits, for vision models that take any size."""
    import timm

    options = dict(request.arguments)
    return timm.create_model(options.pop("architecture"), **options), {
        "x": torch.randn(request.batch, 3, request.size, request.size)
    }


@builder("parametric_vision_transformer")
def parametric_vision_transformer(request: Request) -> Built:
    """A vision transformer of any width, depth and heads: pixels [batch, 3, size, size] → class logits."""
    from timm.models.vision_transformer import VisionTransformer

    return VisionTransformer(img_size=request.size, **request.arguments), {
        "x": torch.randn(request.batch, 3, request.size, request.size)
    }


@builder("waveform_encoder")
def waveform_encoder(request: Request) -> Built:
    """Waveform at 16 kHz [batch, size] → hidden states [batch, size / 320, width]."""
    # Masking spans is for training; its embedding would be allocated outside of the meta device.
    model, _ = create("AutoModel", request.arguments, mask_time_prob=0.0, mask_feature_prob=0.0)
    return TensorOutputs(model, ("last_hidden_state",)), {"input_values": torch.randn(request.batch, request.size)}


@builder("image_text_encoder")
def image_text_encoder(request: Request) -> Built:
    """Pixels at the configured size and ids [batch, size] → similarities of images and texts."""
    model, configuration = create("AutoModel", request.arguments)
    pixels, length = configuration.vision_config.image_size, request.size
    inputs = {
        "input_ids": token_ids(request.batch, length, configuration.text_config.vocab_size),
        "attention_mask": torch.ones(request.batch, length, dtype=torch.int64),
        "pixel_values": torch.randn(request.batch, 3, pixels, pixels),
    }
    return TensorOutputs(model, ("logits_per_image", "logits_per_text")), inputs


@builder("time_series_encoder")
def time_series_encoder(request: Request) -> Built:
    """Values [batch, size, channels] of a time series → hidden states of its patches."""
    model, configuration = create("AutoModel", request.arguments, context_length=request.size)
    values = torch.randn(request.batch, request.size, configuration.num_input_channels)
    return TensorOutputs(model, ("last_hidden_state",)), {"past_values": values}
