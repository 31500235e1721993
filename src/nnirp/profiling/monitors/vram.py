"""Device memory of a model: the peak of torch's allocator, or of the process where a runtime has its own."""

from typing import Any

from nnirp.profiling.monitors import MIB, Unavailable
from nnirp.profiling.monitors.nvml import Nvml


class VramMonitor:
    """Peak device memory between `start` and `read`. Not run on a GPU yet: tested against recorded answers.

    Args:
        cuda: `torch.cuda`, or what answers like it.
        device: `cuda` or `cuda:N`.
        nvml: process totals are null without it.
    """

    def __init__(self, cuda: Any, device: str, nvml: Nvml | None) -> None:
        self.cuda, self.device, self.nvml = cuda, device, nvml
        self.before_allocated = self.before_process = 0

    def before_prepare(self) -> None:
        """Note what is held when the weights and inputs are there and the runtime has not prepared them."""
        self.cuda.synchronize(self.device)
        self.cuda.empty_cache()
        self.before_allocated = self.cuda.memory_allocated(self.device)
        self.before_process = self.nvml.process_memory() or 0 if self.nvml else 0

    def start(self) -> None:
        """Give cached blocks back and reset the allocator's peak."""
        self.cuda.synchronize(self.device)
        self.cuda.empty_cache()
        self.cuda.reset_peak_memory_stats(self.device)

    def read(self, allocator: str, own_bytes: int) -> tuple[float, dict[str, float | None]]:
        """Peak since `start`, without what other models hold, and the parts, in MB.

        Args:
            allocator: `torch`, or `runtime` where the process total is the only source.
            own_bytes: weights and inputs, which were there before `before_prepare`; a runtime has its own copy of them.

        Raises:
            Unavailable: the runtime has its own allocator and the process total cannot be read.
        """
        self.cuda.synchronize(self.device)
        process = self.nvml.process_memory() if self.nvml else None
        parts = {
            "allocator_peak": self.cuda.max_memory_allocated(self.device) / MIB,
            "allocator_reserved": self.cuda.max_memory_reserved(self.device) / MIB,
            "process": None if process is None else process / MIB,
        }
        if allocator == "torch":
            return parts["allocator_peak"] + (own_bytes - self.before_allocated) / MIB, parts
        if process is None:
            raise Unavailable("the runtime has its own allocator and NVML does not list this process")
        return (process - self.before_process) / MIB, parts
