"""The GPUs that can be split, their profiles, and what the whole card can do.

`profiles.csv`: NVIDIA's MIG user guide and what `nvidia-smi mig -lgip` prints. A column that ends in `_inferred` says that a number is
not documented there: usable memory then follows from the lowest usable share known for a slice of that size, multiprocessors
from a card of the same die, or from as many single slices where there is none.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from nnirp.errors import InputError


@dataclass(frozen=True)
class Gpu:
    """A whole card by its data sheet (dense figures, without sparsity).

    `tflops` by precision: `fp32` outside the tensor cores, `tf32`, and `half` for float16 and bfloat16. `names` are what the driver's name of the device contains.
    """

    name: str
    names: tuple[str, ...]
    multiprocessors: int
    bandwidth_gb_s: float
    tflops: dict[str, float]


@dataclass(frozen=True)
class Profile:
    """One way to cut an instance out of a card: memory in GiB, memory slices in eighths of the card, multiprocessors."""

    gpu: str
    name: str
    usable_gib: float
    memory_eighths: int
    multiprocessors: int
    max_instances: int
    inferred: tuple[str, ...]

    @property
    def usable_mb(self) -> float:
        """In MB of 2^20 bytes."""
        return self.usable_gib * 1024


def _gpu(name: str, names: str, multiprocessors: int, bandwidth: float, fp32: float, tf32: float, half: float) -> Gpu:
    return Gpu(name, tuple(names.split("|")), multiprocessors, bandwidth, {"fp32": fp32, "tf32": tf32, "half": half})


# NVIDIA's data sheets of A100, H100, H100 NVL, H200, HGX B200 (an eighth of the board) and A30.
GPUS = {
    gpu.name: gpu
    for gpu in (
        _gpu("A100-40GB", "A100-SXM4-40GB|A100-PCIE-40GB", 108, 1555, 19.5, 156, 312),
        _gpu("A100-80GB", "A100-SXM4-80GB|A100 80GB", 108, 2039, 19.5, 156, 312),
        _gpu("H100-80GB-SXM5", "H100 80GB HBM3", 132, 3350, 67, 494, 989),
        _gpu("H100-80GB-PCIe", "H100 PCIe", 114, 2000, 51, 378, 756),
        _gpu("H100-94GB", "H100 NVL", 132, 3900, 60, 417, 835),
        _gpu("H200-141GB", "H200", 132, 4800, 67, 494, 989),
        _gpu("B200-180GB", "B200", 148, 7700, 75, 1125, 2250),
        _gpu("A30-24GB", "A30", 56, 933, 10.3, 82, 165),
    )
}


@cache
def load_profiles() -> tuple[Profile, ...]:
    """Every profile of every card, in the order of the file: from the smallest memory up."""
    text = files(__package__).joinpath("profiles.csv").read_text(encoding="utf-8")
    return tuple(
        Profile(
            row["gpu"],
            row["profile"],
            float(row["usable_gib"]),
            int(row["memory_eighths"]),
            int(row["multiprocessors"]),
            int(row["max_instances"]),
            tuple(
                name
                for name, column in (
                    ("usable memory", "usable_inferred"),
                    ("multiprocessors", "multiprocessors_inferred"),
                )
                if row[column]
            ),
        )
        for row in csv.DictReader(text.splitlines())
    )


def find_gpu(name: str) -> Gpu:
    """A card by its name, whatever the case; the beginning is enough where only one card begins so.

    Raises:
        InputError: no card or several.
    """
    found = [gpu for key, gpu in GPUS.items() if key.lower() == name.lower()]
    found = found or [gpu for key, gpu in GPUS.items() if key.lower().startswith(name.lower())]
    if len(found) != 1:
        among = ", ".join(gpu.name for gpu in found) or ", ".join(GPUS)
        raise InputError(f"--gpu {name!r} is {'several GPUs' if found else 'no GPU of the table'}; one of: {among}")
    return found[0]


def card_of(device: str) -> Gpu | None:
    """The card of the table that a device's own name, as the driver tells it, belongs to."""
    return next((gpu for gpu in GPUS.values() if any(name in device for name in gpu.names)), None)


def profiles_of(gpu: Gpu) -> tuple[Profile, ...]:
    """The profiles of a card."""
    return tuple(profile for profile in load_profiles() if profile.gpu == gpu.name)
