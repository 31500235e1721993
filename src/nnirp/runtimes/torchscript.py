"""TorchScript: the module is traced with its inputs and frozen, which folds constants and batch norms."""

import warnings
from collections.abc import Mapping

import torch

from nnirp.runtimes.interface import Prepared, Runtime, stopwatch, weights_bytes


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
    held = weights_bytes(constants(frozen.graph))
    return Prepared(call, compile_ms, synchronise, settings={"frozen": True}, weights_bytes=held)


def constants(graph: torch.Graph) -> list[torch.Tensor]:
    """Tensors that freezing put into the graph."""
    nodes = graph.findAllNodes("prim::Constant")
    return [node.t("value") for node in nodes if node.hasAttribute("value") and node.kindOf("value") == "t"]


RUNTIME = Runtime("torchscript", ("cpu", "cuda"), prepare)
