"""Detectors whose decoder turns object queries into boxes, with global or deformable attention."""

import os

import torch

from nnirp.catalog.builders.detection.pixels import random_pixels
from nnirp.catalog.builders.from_configuration import create
from nnirp.catalog.builders.outputs import TensorOutputs
from nnirp.catalog.registry import Built, Request, builder


@builder("query_detector")
def query_detector(request: Request) -> Built:
    """A DETR-like transformers model: pixels [batch, 3, size, size] and their mask → logits and boxes of the queries."""
    # the library's checks of values trace to an assertion that ONNX cannot hold; this is its own switch for them
    os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"
    model, _ = create("AutoModelForObjectDetection", request.arguments)
    model.to(torch.get_default_device())  # some make parameters by torch.Tensor(…), which never follows the device
    inputs = {"pixel_values": random_pixels(request)}
    if request.arguments.get("_pixel_mask", True):
        inputs["pixel_mask"] = torch.ones(request.batch, request.size, request.size, dtype=torch.int64)
    return TensorOutputs(model, ("logits", "pred_boxes")), inputs
