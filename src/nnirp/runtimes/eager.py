"""PyTorch as it is: operators run one by one, in inference mode."""

from collections.abc import Mapping

import torch

from nnirp.runtimes.interface import Prepared, Runtime, weights_of


def prepare(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], device: str) -> Prepared:
    """A call of the module itself. Module and inputs are on `device` already."""

    def call() -> object:
        with torch.inference_mode():
            return module(**inputs)

    synchronise = "cuda_events" if device.startswith("cuda") else "returned"
    return Prepared(call, synchronise=synchronise, weights_bytes=weights_of(module))


RUNTIME = Runtime("eager", ("cpu", "cuda"), prepare)
