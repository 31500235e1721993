"""TVM through Relax, untuned: default schedules, compiled with LLVM for this processor. Slower than a tuned build."""

from collections.abc import Mapping

import torch

from nnirp.runtimes.interface import Prepared, Runtime, stopwatch
from nnirp.runtimes.onnx_model import onnx_with_weights


def prepare(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], device: str) -> Prepared:
    """Export, import into Relax, run the default pipeline and compile; recurrent networks are not supported by TVM."""
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    with stopwatch() as elapsed_ms:
        exported = onnx_with_weights(module, inputs)
        model = onnx.load_from_string(exported) if isinstance(exported, bytes) else onnx.load(str(exported))
        lowered = relax.transform.DecomposeOpsForInference()(from_onnx(model, keep_params_in_input=False))
        executable = tvm.compile(lowered, target=tvm.target.Target({"kind": "llvm", "mcpu": "native"}))
        machine = relax.VirtualMachine(executable, tvm.cpu())
        compile_ms = elapsed_ms()
    wanted = [entry.name for entry in model.graph.input]
    feeds = [tvm.runtime.from_dlpack(inputs[name].contiguous()) for name in wanted]

    def call() -> object:
        return machine["main"](*feeds)

    def outputs(result: object) -> list[torch.Tensor]:
        single = hasattr(result, "numpy")
        return [torch.from_numpy(value.numpy()) for value in ([result] if single else result)]

    return Prepared(call, compile_ms, "returned", outputs, {"tuned": False}, allocator="runtime")


RUNTIME = Runtime(
    "tvm",
    ("cpu",),
    prepare,
    ("onnx", "onnxscript", "tvm"),
    "pip install 'nnirp[graphs,tvm]'",
    precisions=("fp32",),
)
