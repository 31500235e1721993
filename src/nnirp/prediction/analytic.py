"""Memory and time of a model by arithmetic alone, for a GPU that nobody has measured."""

from dataclasses import dataclass

import numpy as np

from nnirp.features.costs.movement import VIEWS
from nnirp.features.dtypes import EDGE_DTYPES
from nnirp.features.encoder import DIMS, EncodedGraph

MIB = float(1 << 20)
SEGMENT_MB = 20.0
"""What PyTorch's caching allocator reserves at once for blocks of 1 to 10 MiB (CUDACachingAllocator, `kLargeBuffer`); larger ones
are rounded up to 2 MiB (`kRoundLarge`)."""
ROUND_MB = 2.0
WORKSPACE_MB = 32.0
"""PyTorch's cuBLAS workspace on Hopper, 8 MiB before; a convolution may ask cuDNN for more, taken as its largest tensor."""
CONTEXT_MB = 450.0
"""A process's CUDA context with PyTorch's kernels. It depends on card and driver; `nvidia-smi` beside an idle process shows it."""
MARGIN = 0.10
"""Allowed on top of the analytic figure for fragmentation. No measurement stands behind it."""
LAUNCH_US = 5.0
"""Launching one kernel from PyTorch's eager mode takes the processor some 4 to 10 µs; this is the lower end of it."""


@dataclass(frozen=True)
class Memory:
    """MB of 2^20 bytes: weights, peak of the live activations, workspace, rounding of the allocator."""

    weights: float
    activations: float
    workspace: float
    rounding: float

    @property
    def total(self) -> float:
        return self.weights + self.activations + self.workspace + self.rounding


def analytic_memory(encoded: EncodedGraph) -> Memory:
    """What a model needs on a GPU besides the context: arithmetic on the graph, not a measurement."""
    weights, activations, _, largest = (float(v) / MIB for v in encoded.memory)
    convolves = any("Conv" in name for name in encoded.op_names)
    rounding = sum(ROUND_MB * np.ceil(part / ROUND_MB) - part for part in (weights, activations)) + SEGMENT_MB
    return Memory(weights, activations, max(WORKSPACE_MB, largest) if convolves else WORKSPACE_MB, float(rounding))


def precision_of(encoded: EncodedGraph) -> str:
    """`half` where most tensors between operators are float16 or bfloat16, else `fp32`."""
    kinds = encoded.edge_attr[:, 2 + DIMS + 2 :].sum(axis=0)
    names = dict(zip(EDGE_DTYPES, kinds, strict=False))
    half = names[EDGE_DTYPES[1]] + names[EDGE_DTYPES[2]]
    return "half" if half > names[EDGE_DTYPES[0]] else "fp32"


def roofline_ms(encoded: EncodedGraph, flops_per_s: float, bytes_per_s: float, launch_us: float = LAUNCH_US) -> float:
    """A lower bound on one inference: per kernel its launch and the larger of arithmetic and traffic, added up.

    Williams, Waterman and Patterson, "Roofline", CACM 2009, applied to each operator. Views launch nothing.

    Args:
        encoded: a graph of N operators.
        flops_per_s, bytes_per_s: peak rates of the device or of a slice of it.
        launch_us: time to launch one kernel.
    """
    kernel = np.array([name not in VIEWS for name in encoded.op_names])
    bound = np.maximum(encoded.flops / flops_per_s, encoded.bytes / bytes_per_s)
    return float(1e3 * bound[kernel].sum() + 1e-3 * launch_us * kernel.sum())
