"""What the device behind a dataset can do at most, by the two kernels that its campaign was calibrated with."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnirp.prediction.answer import Bound
from nnirp.profiling.calibration import COPY_BYTES, MATRIX

EXPLAINED = 0.25
"""An operator whose arithmetic and traffic explain less than this part of its time is bound by overhead: launch, dispatch, or a
kernel that is far from both limits."""


@dataclass(frozen=True)
class DeviceRates:
    """FLOPs and bytes a second that the calibration reached: a 384² product, a copy of 32 MiB (read and written)."""

    flops_per_s: float
    bytes_per_s: float

    def bound(self, flops: np.ndarray, moved: np.ndarray, milliseconds: np.ndarray) -> list[tuple[Bound, float]]:
        """What bounds each of N operators, and how much of its time that explains.

        Args:
            flops, moved, milliseconds: float64 [N].
        """
        arithmetic, memory = 1e3 * flops / self.flops_per_s, 1e3 * moved / self.bytes_per_s
        explained = np.maximum(arithmetic, memory) / np.maximum(milliseconds, 1e-12)
        return [
            ("overhead" if part < EXPLAINED else "arithmetic" if a >= m else "memory", float(part))
            for a, m, part in zip(arithmetic, memory, explained, strict=True)
        ]


def device_rates(manifests: Path) -> DeviceRates | None:
    """The rates of the device a dataset was measured on; None where its campaign was not calibrated, or on a GPU.

    Args:
        manifests: the folder with `campaign/summary.json`.
    """
    path = manifests / "campaign" / "summary.json"
    if not path.is_file():
        return None
    summary = json.loads(path.read_text(encoding="utf-8"))
    floor = summary.get("floor")
    if not floor or (summary.get("fingerprint") or {}).get("gpu"):  # a GPU's kernels have other sizes
        return None
    return DeviceRates(2 * MATRIX**3 / floor["matmul_ms"] * 1e3, 2 * COPY_BYTES / floor["copy_ms"] * 1e3)
