"""TorchScript: the module is traced with its inputs and frozen, which folds constants and batch norms."""

import warnings
from collections.abc import Mapping

import torch

from nnirp.runtimes.interface import Prepared, Runtime, stopwatch


def prepare(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], device: str) -> Prepared:
    """Trace and freeze. Raises what `torch.jit.trace` raises for a model that cannot be traced."""
    with stopwatch() as elapsed_ms, torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(module, example_kwarg_inputs=dict(inputs), strict=False, check_trace=False)
        frozen = torch.jit.freeze(traced.eval())
        compile_ms = elapsed_ms()

    def call() -> object:
        with torch.inference_mode():
            return frozen(**inputs)

    synchronise = "cuda_events" if device.startswith("cuda") else "returned"
    return Prepared(call, compile_ms, synchronise, settings={"frozen": True})


RUNTIME = Runtime("torchscript", ("cpu", "cuda"), prepare)
