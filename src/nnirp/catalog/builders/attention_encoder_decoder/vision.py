"""Image to text: pixels and known ids of the text → logits of the text's tokens."""

from typing import Any

import torch

from nnirp.catalog.builders.attention_encoder_decoder.step import cross_decoding_step
from nnirp.catalog.builders.attention_encoder_decoder.text import DECODER_TOKENS, answer_ids
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs, token_ids
from nnirp.catalog.registry import Built, Request, builder

_CLASS = "AutoModelForImageTextToText"


@builder("image_to_text")
def image_to_text(request: Request) -> Built:
    """A vision encoder and a text decoder: pixels [batch, 3, size, size] and decoder ids → logits.

    Arguments `_encoder` and `_decoder` are those of the two configurations, `model_type` among them. Decode: one token more
    after the known ones, the image encoded before.
    """
    encoder = {"image_size": request.size} | request.arguments["_encoder"]
    return _pair(request, encoder, request.arguments["_decoder"])


@builder("parametric_image_to_text")
def parametric_image_to_text(request: Request) -> Built:
    """A ViT and a GPT-2 of one width, with heads of 64, and any depth of each."""
    sizes = request.arguments
    width, heads = sizes["width"], sizes["width"] // 64
    encoder = {
        "model_type": "vit",
        "image_size": request.size,
        "hidden_size": width,
        "intermediate_size": 4 * width,
        "num_hidden_layers": sizes["encoder_layers"],
        "num_attention_heads": heads,
    }
    decoder = {
        "model_type": "gpt2",
        "vocab_size": 32000,
        "n_embd": width,
        "n_head": heads,
        "n_layer": sizes["decoder_layers"],
    }
    return _pair(request, encoder, decoder)


def _pair(request: Request, encoder: dict[str, Any], decoder: dict[str, Any]) -> Built:
    arguments = {
        "model_type": "vision-encoder-decoder",
        "encoder": encoder,
        "decoder": decoder | {"is_decoder": True, "add_cross_attention": True},
    }
    model, configuration = create(_CLASS, arguments)
    if request.mode == "decode":
        patches = (request.size // configuration.encoder.patch_size) ** 2 + 1
        known = request.arguments.get("_decoder_tokens", DECODER_TOKENS)
        return cross_decoding_step(model, request.batch, patches, known)
    inputs = {
        "pixel_values": torch.randn(request.batch, 3, request.size, request.size),
        "decoder_input_ids": answer_ids(request, configuration.decoder.vocab_size),
    }
    return TensorOutputs(model, ("logits",), use_cache=False), inputs


@builder("patches_to_text")
def patches_to_text(request: Request) -> Built:
    """Pix2Struct: `size` flattened patches of 16 × 16 pixels with their row and column, any aspect ratio → logits."""
    model, configuration = create(_CLASS, request.arguments)
    width = 2 + configuration.vision_config.patch_embed_hidden_size
    patches = torch.randn(request.batch, request.size, width)
    patches[..., :2] = 1.0  # row and column, counted from 1
    inputs = {
        "flattened_patches": patches,
        "attention_mask": torch.ones(request.batch, request.size, dtype=torch.int64),
        "decoder_input_ids": answer_ids(request, configuration.text_config.vocab_size),
    }
    return TensorOutputs(model, ("logits",), use_cache=False), inputs


@builder("image_captioner")
def image_captioner(request: Request) -> Built:
    """BLIP: pixels [batch, 3, size, size] and ids of the caption's beginning → logits of the caption."""
    model, configuration = create(_CLASS, request.arguments, vision_config={"image_size": request.size})
    ids = answer_ids(request, configuration.text_config.vocab_size)
    inputs = {
        "pixel_values": torch.randn(request.batch, 3, request.size, request.size),
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
    }
    return TensorOutputs(model, ("logits",)), inputs


@builder("prompted_image_to_text")
def prompted_image_to_text(request: Request) -> Built:
    """Florence-2: pixels [batch, 3, size, size], and ids of an image's places and a prompt of 8 tokens → logits.

    The image takes a place for each patch of 32 × 32 pixels and one for their mean.
    """
    model, configuration = create(_CLASS, request.arguments)
    vocabulary = configuration.text_config.vocab_size
    image = torch.full((request.batch, (request.size // 32) ** 2 + 1), configuration.image_token_id)
    ids = torch.cat([image, token_ids(request.batch, 8, vocabulary)], dim=1)
    inputs = {
        "pixel_values": torch.randn(request.batch, 3, request.size, request.size),
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "decoder_input_ids": answer_ids(request, vocabulary),
    }
    return TensorOutputs(model, ("logits",), use_cache=False), inputs
