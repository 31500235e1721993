"""What a measurement belongs to: processor or GPU, driver, threads and library versions; no name of a host or a person."""

import hashlib
import json
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

# Instruction sets that decide how fast tensor kernels run.
FLAGS = [
    "sse4_2",
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_bf16",
    "amx_int8",
    "amx_tile",
    "avx_vnni",
    "asimd",
    "asimdhp",
    "asimddp",
    "bf16",
    "i8mm",
    "sve",
    "sve2",
]
BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
LIBRARIES = {
    "eager": (),
    "torchscript": (),
    "inductor": ("triton",),
    "onnxruntime": ("onnx", "onnxscript", "onnxruntime", "onnxruntime-gpu"),
    "openvino": ("onnx", "onnxscript", "openvino"),
    "tensorrt": ("onnx", "onnxscript", "tensorrt"),
    "tvm": ("onnx", "onnxscript", "apache-tvm"),
}


def device_fingerprint(device: str, *, runtime: str = "eager", threads: int = 1) -> dict[str, Any]:
    """The device and everything that changes its times, with a `digest` over the rest.

    Args:
        device: `cpu`, `cuda` or `cuda:N`.
        runtime: its libraries are part of the fingerprint.
        threads: of one inference on the processor.
    """
    import psutil
    import torch

    found: dict[str, Any] = {
        "device": device.split(":")[0],
        "processor": processor(
            Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").is_file() else ""
        ),
        "cores": psutil.cpu_count(logical=False),
        "logical_cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "threads": threads,
        "gpu": gpu(torch.cuda, device) if device.startswith("cuda") else None,
        "libraries": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            **versions(LIBRARIES.get(runtime, ())),
        },
    }
    return {**found, "digest": digest(found)}


def processor(cpuinfo: str) -> dict[str, Any]:
    """Model, family and instruction sets from the text of `/proc/cpuinfo`."""
    first = cpuinfo.split("\n\n")[0]
    entries = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    flags = set((entries.get("flags") or entries.get("Features") or "").split())
    return {
        "name": entries.get("model name") or entries.get("CPU part") or platform.machine(),
        "vendor": entries.get("vendor_id") or entries.get("CPU implementer"),
        "family": entries.get("cpu family"),
        "model": entries.get("model"),
        "machine": platform.machine(),
        "flags": [flag for flag in FLAGS if flag in flags],
    }


def gpu(cuda: Any, device: str) -> dict[str, Any]:
    """Name, memory, capability and software of a GPU, without its serial number or UUID. Not run on a GPU yet.

    Args:
        cuda: `torch.cuda`, or what answers like it.
    """
    import torch

    properties = cuda.get_device_properties(device)
    return {
        "name": properties.name,
        "memory_gib": round(properties.total_memory / 2**30),
        "capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": properties.multi_processor_count,
        "driver": driver_version(),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "tf32": bool(torch.backends.cuda.matmul.allow_tf32),
    }


def driver_version(path: Path = Path("/proc/driver/nvidia/version")) -> str | None:
    """The version in the first line that NVIDIA's kernel module shows, such as 580.65.06."""
    if not path.is_file():
        return None
    words = path.read_text(encoding="utf-8").split("\n")[0].split()
    return next((word for word in words if word.count(".") >= 1 and word.replace(".", "").isdigit()), None)


def versions(names: tuple[str, ...]) -> dict[str, str]:
    """Versions of the distributions that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def digest(fingerprint: Mapping[str, Any]) -> str:
    """First 16 hexadecimal digits of the SHA-256 of the fingerprint without its `digest`, as sorted JSON."""
    content = {key: value for key, value in fingerprint.items() if key != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def runs_bf16(fingerprint: Mapping[str, Any]) -> bool:
    """Whether the device has bfloat16 instructions; without them it emulates, and the time says nothing."""
    if fingerprint["gpu"]:
        return float(fingerprint["gpu"]["capability"]) >= 8.0
    return bool(BF16_FLAGS & set(fingerprint["processor"]["flags"]))
