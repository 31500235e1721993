"""Image encoders: pixels [batch, 3, size, size] → class logits or maps."""

import torch
from torch import Tensor

from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


def pixels(request: Request) -> Tensor:
    """Return a random image batch [batch, 3, size, size]."""
    return torch.randn(request.batch, 3, request.size, request.size)


@builder("timm_vision_transformer")
def timm_vision_transformer(request: Request) -> Built:
    """A timm architecture whose positions and windows are made for the size."""
    import timm

    options = dict(request.arguments)
    model = timm.create_model(options.pop("architecture"), img_size=request.size, **options)
    return model, {"x": pixels(request)}


@builder("timm_hybrid")
def timm_hybrid(request: Request) -> Built:
    """A timm architecture that takes any size."""
    import timm

    options = dict(request.arguments)
    return timm.create_model(options.pop("architecture"), **options), {"x": pixels(request)}


@builder("parametric_vision_transformer")
def parametric_vision_transformer(request: Request) -> Built:
    """A vision transformer of any width, depth and heads."""
    from timm.models.vision_transformer import VisionTransformer

    return VisionTransformer(img_size=request.size, **request.arguments), {"x": pixels(request)}


@builder("vision_encoder")
def vision_encoder(request: Request) -> Built:
    """A transformers model of images, its positions made for the size; `_class` and `_outputs` say which head is used."""
    name = request.arguments.get("_class", "AutoModelForImageClassification")
    model, _ = create(name, {"image_size": request.size} | request.arguments)
    return TensorOutputs(model, request.arguments.get("_outputs", ("logits",))), {"pixel_values": pixels(request)}


@builder("video_encoder")
def video_encoder(request: Request) -> Built:
    """Clips [batch, frames, 3, size, size] → class logits."""
    name = request.arguments.get("_class", "AutoModelForVideoClassification")
    frames = request.arguments["num_frames"]
    model, _ = create(name, {"image_size": request.size} | request.arguments)
    for module in model.modules():
        table = vars(module).get("position_embeddings")
        if isinstance(table, Tensor):  # VideoMAE keeps its sinusoids where neither device nor precision reaches them
            del module.position_embeddings
            module.register_buffer("position_embeddings", table.to(torch.get_default_device()))
    clips = torch.randn(request.batch, frames, 3, request.size, request.size)
    return TensorOutputs(model, ("logits",)), {"pixel_values": clips}
