"""Document encoders: ids and mask [batch, size] with the place of each token → hidden states."""

import torch
from torch import Tensor

from nnirp.catalog.builders.attention_encoder.text import masked_ids
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


def boxes(request: Request) -> Tensor:
    """Return boxes int64 [batch, size, 4] of tokens on a page of 1000 × 1000: left ≤ right, top ≤ bottom."""
    corner = torch.randint(0, 500, (request.batch, request.size, 2))
    return torch.cat([corner, corner + torch.randint(0, 500, (request.batch, request.size, 2))], dim=-1)


@builder("layout_encoder")
def layout_encoder(request: Request) -> Built:
    """Text with a box for each token; `_page` adds the picture of the page at the configured size."""
    model, configuration = create("AutoModel", request.arguments)
    inputs = masked_ids(request, configuration.vocab_size) | {"bbox": boxes(request)}
    if request.arguments.get("_page"):
        inputs["pixel_values"] = torch.randn(request.batch, 3, configuration.input_size, configuration.input_size)
    if request.arguments.get("_relative_boxes"):
        inputs["bbox"] = inputs["bbox"] / 1000.0
    return TensorOutputs(model, ("last_hidden_state",)), inputs


@builder("markup_encoder")
def markup_encoder(request: Request) -> Built:
    """Text with the path of each token in its page's tree: tags and subscripts int64 [batch, size, depth]."""
    model, configuration = create("AutoModel", request.arguments)
    shape = (request.batch, request.size, configuration.max_depth)
    inputs = masked_ids(request, configuration.vocab_size)
    inputs["xpath_tags_seq"] = torch.randint(0, configuration.tag_pad_id, shape)
    inputs["xpath_subs_seq"] = torch.randint(0, configuration.subs_pad_id, shape)
    return TensorOutputs(model, ("last_hidden_state",)), inputs


@builder("table_encoder")
def table_encoder(request: Request) -> Built:
    """Text with the column, row and rank of each token: types int64 [batch, size, kinds of types]."""
    model, configuration = create("AutoModel", request.arguments)
    types = [torch.randint(0, count, (request.batch, request.size)) for count in configuration.type_vocab_sizes]
    inputs = masked_ids(request, configuration.vocab_size) | {"token_type_ids": torch.stack(types, dim=-1)}
    return TensorOutputs(model, ("last_hidden_state",)), inputs
