"""`torch.compile` with the inductor back end: fused kernels generated for these shapes. Needs a C++ compiler; not run on a GPU yet."""

import shutil
from collections.abc import Mapping

import torch

from nnirp.runtimes.interface import Prepared, Runtime, stopwatch, weights_of
from nnirp.runtimes.options import options


def prepare(module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], device: str) -> Prepared:
    """Compile for static shapes; the compilation, which the first call triggers, is `compile_ms`."""
    chosen = options("inductor", mode="default")
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="inductor", dynamic=False, mode=chosen["mode"])

    def call() -> object:
        with torch.inference_mode():
            return compiled(**inputs)

    with stopwatch() as elapsed_ms:
        call()
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)
        compile_ms = elapsed_ms()
    synchronise = "cuda_events" if device.startswith("cuda") else "returned"
    settings = {"backend": "inductor", "dynamic": False, **chosen}
    return Prepared(call, compile_ms, synchronise, settings=settings, weights_bytes=weights_of(module))


def lacking() -> str:
    """Inductor writes C++ for processors and builds it with the compiler it finds."""
    found = any(shutil.which(name) for name in ("g++", "clang++", "c++"))
    return "" if found else "no C++ compiler on PATH; apt-get install g++"


def preload() -> None:
    """Import the compiler."""
    import torch._dynamo.convert_frame
    import torch._inductor.compile_fx  # noqa: F401


RUNTIME = Runtime("inductor", ("cpu", "cuda"), prepare, lacking=lacking, preload=preload)
