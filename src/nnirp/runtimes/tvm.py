"""TVM through Relax, compiled with LLVM for this processor: untuned (default schedules, slow) unless trials of MetaSchedule are chosen."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch

from nnirp.runtimes.interface import Prepared, Runtime, stopwatch
from nnirp.runtimes.onnx_model import onnx_with_weights, preload_exporter
from nnirp.runtimes.options import options


def prepare(
    module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], device: str, model: Path | None = None
) -> Prepared:
    """Export, import into Relax, tune or not, and compile; recurrent networks are not supported by TVM.

    The option `trials` is the number of schedules that MetaSchedule tries over the whole model; with 0 the default pipeline runs.
    """
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    trials = options("tvm", trials=0)["trials"]
    processor = (
        tvm.target.codegen.llvm_get_system_cpu()
    )  # "native" is unknown to TVM's LLVM, which then builds for any x86
    target = tvm.target.Target({"kind": "llvm", "mcpu": processor, "num-cores": torch.get_num_threads()})
    with stopwatch() as elapsed_ms:
        graph = onnx.load(model or onnx_with_weights(module, inputs))
        lowered = relax.transform.DecomposeOpsForInference()(from_onnx(graph, keep_params_in_input=False))
        if trials:
            with tempfile.TemporaryDirectory(prefix="tvm-") as folder:
                tune = relax.get_pipeline("static_shape_tuning", total_trials=trials, target=target, work_dir=folder)
                lowered = tune(lowered)
        executable = tvm.compile(lowered, target=target)
        machine = relax.VirtualMachine(executable, tvm.cpu())
        compile_ms = elapsed_ms()
    wanted = [entry.name for entry in graph.graph.input]
    feeds = [tvm.runtime.from_dlpack(inputs[name].contiguous()) for name in wanted]

    def call() -> object:
        return machine["main"](*feeds)

    def outputs(result: object) -> list[torch.Tensor]:
        single = hasattr(result, "numpy")
        return [torch.from_numpy(value.numpy()) for value in ([result] if single else result)]

    pool = "TVM keeps one memory pool for all models of a process, and its compiler leaves memory behind"
    return Prepared(
        call,
        compile_ms,
        "returned",
        outputs,
        {"tuned": bool(trials), "trials": trials, "mcpu": processor},
        allocator="runtime",
        memory_unknown=pool,
    )


def preload() -> None:
    """Import TVM and the exporter."""
    import tvm.relax.frontend.onnx  # noqa: F401

    preload_exporter()


RUNTIME = Runtime(
    "tvm",
    ("cpu",),
    prepare,
    ("onnx", "onnxscript", "tvm"),
    "pip install 'nnirp[graphs,tvm]'",
    precisions=("fp32",),
    preload=preload,
    convert=onnx_with_weights,
)
