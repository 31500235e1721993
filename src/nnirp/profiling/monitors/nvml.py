"""One GPU through NVIDIA's management library, found by its UUID because indices differ between CUDA and NVML.

Not run on a GPU yet: tested against recorded answers.
"""

import os
from collections.abc import Iterable
from typing import Any

from nnirp.profiling.monitors import Unavailable


class Nvml:
    """Memory, utilisation and energy of one GPU.

    Args:
        library: the module `pynvml` of the package nvidia-ml-py, or what answers like it.
        handle: of the device.
    """

    def __init__(self, library: Any, handle: Any) -> None:
        self.library, self.handle = library, handle

    def process_memory(self, pid: int | None = None) -> int | None:
        """Bytes of device memory of a process; None where the driver does not say, as in containers."""
        pid = pid or os.getpid()
        try:
            listed = self.library.nvmlDeviceGetComputeRunningProcesses(self.handle)
        except self.library.NVMLError:
            return None
        return next((entry.usedGpuMemory for entry in listed if entry.pid == pid), None)

    def other_processes(self, own: Iterable[int] = ()) -> int:
        """Number of processes that compute on this GPU and are neither this one nor among `own`.

        0 where the driver does not know this process by its number, as in containers.
        """
        try:
            listed = {entry.pid for entry in self.library.nvmlDeviceGetComputeRunningProcesses(self.handle)}
        except self.library.NVMLError:
            return 0
        return len(listed - {os.getpid(), *own}) if os.getpid() in listed else 0

    def utilisation_percent(self) -> float:
        """Share of the driver's last sampling period in which a kernel ran, percent."""
        try:
            return float(self.library.nvmlDeviceGetUtilizationRates(self.handle).gpu)
        except self.library.NVMLError as error:
            raise Unavailable(f"NVML: {error}") from None

    def energy_joule(self) -> float:
        """Energy since the driver was loaded, joule (the counter is in millijoule; Volta and later)."""
        try:
            return self.library.nvmlDeviceGetTotalEnergyConsumption(self.handle) / 1e3
        except self.library.NVMLError as error:
            raise Unavailable(f"NVML: {error}") from None


def open_nvml(uuid: str, library: Any = None) -> Nvml:
    """Open the device with that UUID.

    Args:
        uuid: as torch gives it, with or without `GPU-` in front.
        library: `pynvml` by default.

    Raises:
        Unavailable: the package or the driver is absent, or no device has the UUID.
    """
    if library is None:
        try:
            import pynvml as library
        except ImportError:
            raise Unavailable("nvidia-ml-py is not installed; pip install nvidia-ml-py") from None
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        raise Unavailable(f"NVML: {error}") from None
    wanted = uuid.removeprefix("GPU-").lower()
    for index in range(library.nvmlDeviceGetCount()):
        handle = library.nvmlDeviceGetHandleByIndex(index)
        found = library.nvmlDeviceGetUUID(handle)
        found = found.decode() if isinstance(found, bytes) else found
        if found.removeprefix("GPU-").removeprefix("MIG-").lower() == wanted:
            return Nvml(library, handle)
    raise Unavailable(f"NVML lists no device with the UUID that torch gives ({wanted[:8]}…)")
