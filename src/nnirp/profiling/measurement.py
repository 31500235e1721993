"""One sample prepared (memory, disk, energy) and one visit to it (time), as parts of the record of the profiling layer."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from nnirp.profiling import loop
from nnirp.profiling.calibration import calibrator
from nnirp.profiling.model import Bench, Held
from nnirp.profiling.monitors import MIB, Unavailable, disk, memory
from nnirp.profiling.monitors.energy import Rapl, per_inference
from nnirp.profiling.monitors.utilisation import CpuUtilisation, Sampler
from nnirp.profiling.monitors.vram import VramMonitor
from nnirp.profiling.record import blank_record, fill
from nnirp.profiling.settings import ProfileSettings

SHORT_CALL_S = 0.1  # below it a second memory pass costs less than the calibrations of a sample


@dataclass
class Instruments:
    """What a worker measures with, opened once."""

    settings: ProfileSettings
    bench: Bench
    cores: set[int]
    folder: Path
    environment: dict[str, Any]
    vram: VramMonitor | None = None
    nvml: Any = None
    rapl: Rapl | None = None
    energy_reason: str = ""
    calibrate: Any = None
    apart: memory.Apart = field(default_factory=memory.Apart)


def prepare(tools: Instruments, configuration: Any, sample: Any) -> dict:
    """Build one sample, run it until it is warm and measure everything but its time; it stays held for its visits.

    Raises:
        Whatever building or running the model raises.
    """
    settings, began = tools.settings, time.perf_counter()
    record = blank_record(configuration, sample, settings, tools.environment)
    meta = record["_meta"]
    meta["started"] = datetime.now(UTC).isoformat(timespec="seconds")
    before_bytes = disk.folder_bytes(tools.folder)
    held = tools.bench.hold(configuration, sample)
    call, clock = held.prepared.call, loop.clock_for(held.prepared.synchronise)
    meta["runtime"] |= {
        "settings": dict(held.prepared.settings),
        "convert_ms": held.convert_ms,
        "compile_ms": held.convert_ms + held.prepared.compile_ms,
        "synchronise": held.prepared.synchronise,
        "largest_difference_from_eager": held.agreement,
    }
    meta["input_shapes"] = {name: list(tensor.shape) for name, tensor in held.inputs.items()}
    meta["parameters"] = held.parameters
    meta["reused_module"] = held.reused
    meta["first_call_ms"] = clock(call)
    memory_s, passes = _memory_pass(tools, record, held, meta["first_call_ms"] / 1e3)
    warm, meta["steady"] = [], None
    budget_s = settings.warm_up_share * settings.time_budget_s
    if memory_s / passes < budget_s or settings.runtime != "eager":  # a long eager call is warm after these two
        with loop.no_collection():
            warm, meta["steady"] = loop.warm_up(call, clock, budget_s)
    held.usual_ms = min([meta["first_call_ms"], 1e3 * memory_s / passes, *warm])
    meta |= {"warm_up_ms": warm, "clock_overhead_ms": loop.overhead_ms(clock), "rounds": [], "times_ms": []}
    sustained_s = _sustained_pass(tools, record, call, clock)
    fill(record, "Peak Disk Usage (MB)", [(disk.folder_bytes(tools.folder) - before_bytes) / MIB])
    meta["seconds"] = {
        "build": held.build_s,
        "first_call": meta["first_call_ms"] / 1e3,
        "memory": memory_s,
        "warm_up": sum(warm) / 1e3,
        "sustained": sustained_s,
        "timed": 0.0,
        "prepare": time.perf_counter() - began,
        "visits": 0.0,
    }
    meta["status"] = "ok"
    return record


def visit(tools: Instruments, sample: str, budget_s: float, most: int) -> dict[str, Any]:
    """One round of a prepared sample: its times, and what the visit cost."""
    began = time.perf_counter()
    held = tools.bench.held[sample]
    used = CpuUtilisation()
    found = loop.visit(
        held.prepared.call,
        loop.clock_for(held.prepared.synchronise),
        budget_s=budget_s,
        most=most,
        usual_ms=held.usual_ms,
    )
    held.usual_ms = min(held.usual_ms, *found.times_ms)
    return {
        "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "times_ms": [round(value, 5) for value in found.times_ms],
        "warm_up_ms": [round(value, 5) for value in found.warm_up_ms],
        "cpu_percent": round(used.percent(), 2),
        "seconds": time.perf_counter() - began,
    }


def calibrate(tools: Instruments, own: list[int]) -> dict[str, Any]:
    """Time the fixed kernels, and count the processes on the GPU that are not among `own`, the campaign's workers."""
    if tools.calibrate is None:
        tools.calibrate = calibrator(tools.settings.device)
    others = tools.nvml.other_processes(own) if tools.nvml else 0
    return {"calibration": tools.calibrate().to_dict(), "gpu_processes": others}


def _memory_pass(tools: Instruments, record: dict, held: Held, call_s: float) -> tuple[float, int]:
    """Peak memory and disk traffic of single inferences, apart from timing; returns the model's seconds and calls."""
    call, meta, spent, calls = held.prepared.call, record["_meta"], 0.0, 1
    if tools.vram:
        tools.vram.start()
    if call_s < SHORT_CALL_S:  # what libraries keep for that thread; some MB, which nobody sees on a long model
        spent += tools.apart(call) / 1e3
        calls += 1
    basis = held.basis_bytes
    if held.prepared.allocator == "torch":  # what a first call leaves behind, imports and kernels, is the library's
        memory.settle()
        basis = memory.resident().anonymous
    memory.settle()
    ram_reason, disk_reason = held.prepared.memory_unknown, ""
    try:
        memory.reset_peak()
    except Unavailable as error:
        ram_reason = str(error)
    try:
        moved = disk.traffic()
    except Unavailable as error:
        moved, disk_reason = None, str(error)
    spent += tools.apart(call) / 1e3
    now = memory.resident()
    read_written = (disk.traffic() - moved).megabytes() if moved is not None else ()
    weights = held.prepared.weights_bytes
    on_host = tools.settings.device == "cpu" and weights is not None
    parts = memory.MemoryParts(
        model=weights if on_host else held.growth_bytes,
        inputs=held.inputs_bytes,
        run_peak=max(0, now.private_peak - basis) + held.inputs_bytes,
        process_peak=now.peak,
    )
    meta["memory_mb"] = parts.megabytes() | {"resident_growth": held.growth_bytes / MIB}
    fill(record, "Peak RAM (MB)", [] if ram_reason else [parts.total()], ram_reason)
    for metric, value in zip(("Disk Read (MB)", "Disk Write (MB)"), read_written or (None, None), strict=True):
        fill(record, metric, [] if value is None else [max(0.0, value)], disk_reason)
    if tools.vram:
        try:
            peak, meta["vram_mb"] = tools.vram.read(held.prepared.allocator, (weights or 0) + held.device_inputs_bytes)
            fill(record, "Peak VRAM (MB)", [peak])
        except Unavailable as error:
            fill(record, "Peak VRAM (MB)", [], str(error))
    else:
        fill(record, "Peak VRAM (MB)", [], "the model runs on the processor")
    return spent, calls


def _sustained_pass(tools: Instruments, record: dict, call: Any, clock: loop.Clock) -> float:
    """Energy and GPU utilisation over inferences back to back; nothing runs where nothing can be read."""
    gpu = tools.nvml is not None
    joule = tools.nvml.energy_joule if gpu else tools.rapl.joule if tools.rapl else None
    on_gpu = tools.settings.device != "cpu"
    gpu_reason = tools.energy_reason if on_gpu else "the model runs on the processor"
    if joule is None:
        fill(record, "Energy (J)", [], tools.energy_reason)
        fill(record, "GPU Utilization (%)", [], gpu_reason)
        return 0.0
    sampler = Sampler(tools.nvml.utilisation_percent) if gpu else None
    seconds = 0.0

    def run() -> int:
        nonlocal seconds
        count, seconds = loop.sustained(call, clock, tools.settings.sustained_s, sampler or (lambda: None))
        return count

    try:
        fill(record, "Energy (J)", [per_inference(joule, run)])
    except Unavailable as error:
        fill(record, "Energy (J)", [], str(error))
    # the first reading still covers the time before the pass
    fill(record, "GPU Utilization (%)", (sampler.values[1:] or sampler.values) if sampler else [], gpu_reason)
    return seconds


def instruments(
    settings: ProfileSettings, bench: Bench, cores: set[int], folder: Path, environment: dict
) -> Instruments:
    """Open what this machine offers; what it does not is remembered with its reason."""
    tools = Instruments(settings, bench, cores, folder, environment)
    if settings.device == "cpu":
        try:
            tools.rapl = Rapl()
        except Unavailable as error:
            tools.energy_reason = str(error)
        return tools
    from nnirp.profiling.monitors.nvml import open_nvml

    try:
        tools.nvml = open_nvml(str(torch.cuda.get_device_properties(settings.device).uuid))
    except (Unavailable, AttributeError) as error:
        tools.energy_reason = str(error)
    tools.vram = VramMonitor(torch.cuda, settings.device, tools.nvml)
    bench.before_prepare = tools.vram.before_prepare
    return tools
