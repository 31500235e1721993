"""Two towers: an image or sound and a text, compared by similarity."""

import torch

from nnirp.catalog.builders.attention_encoder.text import masked_ids
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


@builder("image_text_encoder")
def image_text_encoder(request: Request) -> Built:
    """Pixels at the configured size and ids [batch, size] → similarities of images and texts."""
    model, configuration = create("AutoModel", request.arguments)
    side = configuration.vision_config.image_size
    inputs = masked_ids(request, configuration.text_config.vocab_size)
    inputs["pixel_values"] = torch.randn(request.batch, 3, side, side)
    return TensorOutputs(model, ("logits_per_image", "logits_per_text")), inputs
