"""TorchScript: the module is traced with its inputs and frozen, which folds constants and batch norms. Not run on a GPU yet."""

import warnings
from collections.abc import Mapping

import torch

from nnirp.runtimes.interface import Prepared, Runtime, stopwatch, tensors_of, weights_bytes
from nnirp.runtimes.options import options


def prepare(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], device: str) -> Prepared:
    """Trace and freeze. Raises what `torch.jit.trace` raises for a model that cannot be traced."""
    values, chosen = tuple(inputs.values()), options("torchscript", optimize_for_inference=False)
    with stopwatch() as elapsed_ms, torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(_Positional(module, tuple(inputs)).eval(), values, strict=False, check_trace=False)
        frozen = torch.jit.freeze(traced)
        if chosen["optimize_for_inference"]:
            frozen = torch.jit.optimize_for_inference(frozen)
        compile_ms = elapsed_ms()

    def call() -> object:
        with torch.inference_mode():
            return frozen(*values)

    synchronise = "cuda_events" if device.startswith("cuda") else "returned"
    held = weights_bytes(constants(frozen))
    return Prepared(call, compile_ms, synchronise, settings={"frozen": True, **chosen}, weights_bytes=held)


class _Positional(torch.nn.Module):
    """A module called by position: a trace has no keywords that the module takes as `**kwargs`."""

    def __init__(self, module: torch.nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(tensors_of(self.module(**dict(zip(self.names, values, strict=True)))))


def constants(frozen: torch.jit.ScriptModule) -> list[torch.Tensor]:
    """Tensors that a frozen module holds: constants of its graph, lists of them included, and what was not folded in."""
    values = [node.output().toIValue() for node in frozen.graph.findAllNodes("prim::Constant")]
    return [*tensors_of(values), *frozen.parameters(), *frozen.buffers()]


RUNTIME = Runtime("torchscript", ("cpu", "cuda"), prepare)
