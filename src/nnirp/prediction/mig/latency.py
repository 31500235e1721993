"""The time of one inference on a slice of a card."""

from nnirp.features.encoder import EncodedGraph
from nnirp.prediction.analytic import precision_of, roofline_ms
from nnirp.prediction.mig.table import Gpu, Profile


def slice_roofline_ms(encoded: EncodedGraph, gpu: Gpu, profile: Profile | None, precision: str | None = None) -> float:
    """The roofline of a slice: launches as on the whole card, arithmetic by its multiprocessors, traffic by its memory slices.

    Args:
        encoded: the graph.
        gpu: the card; all of it where `profile` is None.
        precision: `fp32`, `tf32` or `half`; by default what the graph's tensors are.
    """
    compute, memory = 1.0, 1.0
    if profile is not None:
        compute = profile.multiprocessors / gpu.multiprocessors
        memory = profile.memory_eighths / 8
    peak = gpu.tflops[precision or precision_of(encoded)] * 1e12
    return roofline_ms(encoded, peak * compute, gpu.bandwidth_gb_s * 1e9 * memory)


def slice_ms(
    encoded: EncodedGraph, gpu: Gpu, profile: Profile, measured_ms: float | None = None, precision: str | None = None
) -> float:
    """Time on a slice: the roofline, or, where the whole card's time is predicted, that time stretched as the roofline is."""
    bound = slice_roofline_ms(encoded, gpu, profile, precision)
    if measured_ms is None:
        return bound
    return measured_ms * bound / slice_roofline_ms(encoded, gpu, None, precision)
