"""Two towers: an image, a clip or a sound and a text [batch, size], compared by similarity or fused into a mask."""

import torch

from nnirp.catalog.builders.attention_encoder.text import masked_ids
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


@builder("image_text_encoder")
def image_text_encoder(request: Request) -> Built:
    """Pixels at the configured size, or at `_side`, and ids → similarities of images and texts, or what `_outputs` names."""
    model, configuration = create(request.arguments.get("_class", "AutoModel"), request.arguments)
    side = request.arguments.get("_side", configuration.vision_config.image_size)
    inputs = masked_ids(request, configuration.text_config.vocab_size)
    inputs["pixel_values"] = torch.randn(request.batch, 3, side, side)
    outputs = request.arguments.get("_outputs", ("logits_per_image", "logits_per_text"))
    return TensorOutputs(model, outputs), inputs


@builder("video_text_encoder")
def video_text_encoder(request: Request) -> Built:
    """Clips of the configured frames and size, and ids → similarities of clips and texts."""
    model, configuration = create("AutoModel", request.arguments)
    vision = configuration.vision_config
    inputs = masked_ids(request, configuration.text_config.vocab_size)
    inputs["pixel_values"] = torch.randn(request.batch, vision.num_frames, 3, vision.image_size, vision.image_size)
    return TensorOutputs(model, ("logits_per_video", "logits_per_text")), inputs


@builder("audio_text_encoder")
def audio_text_encoder(request: Request) -> Built:
    """Spectrograms of ten seconds [batch, 1, 1001, mel bands] and ids → similarities of sounds and texts."""
    model, configuration = create("AutoModel", request.arguments)
    inputs = masked_ids(request, configuration.text_config.vocab_size)
    inputs["input_features"] = torch.randn(request.batch, 1, 1001, configuration.audio_config.num_mel_bins)
    return TensorOutputs(model, ("logits_per_audio", "logits_per_text")), inputs


@builder("parametric_image_text")
def parametric_image_text(request: Request) -> Built:
    """A CLIP whose towers have the swept widths, depths and heads; images have `side` pixels."""
    arguments = dict(request.arguments)
    side = arguments.pop("side")
    towers = {
        tower: {field: arguments.pop(f"{tower}_{field}") for field in ("hidden_size", "num_hidden_layers")}
        for tower in ("vision", "text")
    }
    for tower in towers.values():
        tower |= {"num_attention_heads": tower["hidden_size"] // 64, "intermediate_size": 4 * tower["hidden_size"]}
    towers["vision"] |= {"image_size": side, "patch_size": 16}
    model, configuration = create(
        "AutoModel", arguments, vision_config=towers["vision"], text_config=towers["text"], projection_dim=256
    )
    inputs = masked_ids(request, configuration.text_config.vocab_size)
    inputs["pixel_values"] = torch.randn(request.batch, 3, side, side)
    return TensorOutputs(model, ("logits_per_image", "logits_per_text")), inputs
