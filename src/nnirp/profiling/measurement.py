"""One sample measured: memory, then time, then energy and utilisation, as the JSON record of the profiling layer."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from nnirp.profiling import loop
from nnirp.profiling.calibration import drift
from nnirp.profiling.model import Bench
from nnirp.profiling.monitors import MIB, Unavailable, contention, disk, memory
from nnirp.profiling.monitors.energy import Rapl, per_inference
from nnirp.profiling.monitors.utilisation import CpuUtilisation, Sampler
from nnirp.profiling.monitors.vram import VramMonitor
from nnirp.profiling.record import blank_record, fill
from nnirp.profiling.settings import ProfileSettings

SHORT_CALL_S = 0.3  # below it three memory passes cost less than one timed call of a long model


@dataclass
class Instruments:
    """What a worker measures with, opened once."""

    settings: ProfileSettings
    bench: Bench
    calibrate: Any
    cores: set[int]
    folder: Path
    environment: dict[str, Any]
    vram: VramMonitor | None = None
    nvml: Any = None
    rapl: Rapl | None = None
    energy_reason: str = ""
    last_calibration: dict[str, float] | None = None


def measure_sample(tools: Instruments, configuration: Any, sample: Any, reference: dict[str, float] | None) -> dict:
    """Measure one sample.

    Args:
        tools: of this worker.
        configuration: source configuration of the sample.
        sample: what to measure.
        reference: calibration that drift is judged against; None at the start of a campaign.

    Raises:
        Whatever building or running the model raises.
    """
    settings, wall = tools.settings, time.perf_counter()
    record = blank_record(configuration, sample, settings, tools.environment)
    meta = record["_meta"]
    meta["started"] = datetime.now(UTC).isoformat(timespec="seconds")
    before = tools.last_calibration or _calibration(tools)
    held = tools.bench.hold(configuration, sample)
    call, clock = held.prepared.call, loop.clock_for(held.prepared.synchronise)
    meta["runtime"] |= {
        "settings": dict(held.prepared.settings),
        "compile_ms": held.prepared.compile_ms,
        "synchronise": held.prepared.synchronise,
        "largest_difference_from_eager": held.agreement,
    }
    meta["input_shapes"] = {name: list(tensor.shape) for name, tensor in held.inputs.items()}
    meta["parameters"] = None if held.module is None else sum(p.numel() for p in held.module.parameters())
    meta["reused_module"] = held.reused
    meta["first_call_ms"] = clock(call)
    if held.prepared.allocator == "torch":  # what a first call leaves behind, imports and kernels, is the library's
        memory.settle()
        held.basis_bytes = memory.resident().anonymous
    memory_s = _memory_pass(tools, record, held, meta["first_call_ms"] / 1e3)

    accounts, used = contention.core_time(tools.cores), CpuUtilisation()
    timing = loop.measure(call, clock, settings)
    fill(record, "CPU Utilization (%)", [used.percent()])
    taken = contention.shares(accounts, contention.core_time(tools.cores), len(tools.cores))
    fill(record, "Runtime (ms)", list(timing.times_ms))
    meta |= {
        "times_ms": list(timing.times_ms),
        "warm_up_ms": list(timing.warm_up_ms),
        "steady": timing.steady,
        "stopped_by": timing.stopped_by,
        "median_interval_ms": list(timing.interval_ms),
        "relative_half_width": timing.relative_half_width,
        "clock_overhead_ms": loop.overhead_ms(clock),
    }
    sustained_s = _sustained_pass(tools, record, call, clock)
    fill(record, "Peak Disk Usage (MB)", [disk.folder_bytes(tools.folder) / MIB])
    after = _calibration(tools)
    meta["calibration"] = {"before": before, "after": after, "reference": reference}
    meta["moment"] = judge(settings, before, after, reference, taken, tools.nvml.other_processes() if tools.nvml else 0)
    timed = sum(timing.times_ms) / 1e3
    meta["seconds"] = {
        "build": held.build_s,
        "timed": timed,
        "model": timed + (sum(timing.warm_up_ms) + meta["first_call_ms"]) / 1e3 + memory_s + sustained_s,
        "wall": time.perf_counter() - wall,
    }
    meta["status"] = "ok"
    return record


def judge(
    settings: ProfileSettings,
    before: dict[str, float] | None,
    after: dict[str, float] | None,
    reference: dict[str, float] | None,
    taken: dict[str, float] | None,
    gpu_processes: int = 0,
) -> dict[str, Any]:
    """Was this a bad moment to measure? The shares behind the verdict, and the reasons, empty for a good moment."""
    slower = max(drift(entry, reference) if entry else 0.0 for entry in (before, after))
    reasons = []
    if slower > settings.drift_threshold:
        reasons.append(f"calibration {100 * slower:.0f} % slower than usual")
    for name in ("others", "stolen"):
        if taken and taken[name] > settings.contention_threshold:
            reasons.append(f"{100 * taken[name]:.0f} % of the cores {'used by others' if name == 'others' else name}")
    if gpu_processes:
        reasons.append(f"{gpu_processes} other processes on the GPU")
    disturbance = max(slower, *(taken or {"none": 0.0}).values())
    return {"drift": slower, **(taken or {}), "disturbance": disturbance, "reasons": reasons}


def _calibration(tools: Instruments) -> dict[str, float] | None:
    tools.last_calibration = tools.calibrate().to_dict() if tools.calibrate else None
    return tools.last_calibration


def _memory_pass(tools: Instruments, record: dict, held: Any, call_s: float) -> float:
    """Peak memory and disk traffic of single inferences, apart from timing; returns the seconds of the model."""
    call, meta, spent = held.prepared.call, record["_meta"], 0.0
    peaks, process_peaks, reads, writes, reason = [], [], [], [], {}
    if tools.vram:
        tools.vram.start()
    for _ in range(3 if call_s < SHORT_CALL_S else 1):
        memory.settle()
        try:
            memory.reset_peak()
        except Unavailable as error:
            reason["Peak RAM (MB)"] = str(error)
        try:
            moved = disk.traffic()
        except Unavailable as error:
            moved, reason["disk"] = None, str(error)
        with memory.large_blocks_mapped():
            spent += loop.host_clock(call) / 1e3
        now = memory.resident()
        peaks.append(max(0, now.private_peak - held.basis_bytes) + held.inputs_bytes)
        process_peaks.append(now.peak)
        if moved is not None:
            read, written = (disk.traffic() - moved).megabytes()
            reads.append(max(0.0, read))
            writes.append(max(0.0, written))
    parts = memory.MemoryParts(held.model_bytes, held.inputs_bytes, tuple(peaks), max(process_peaks))
    meta["memory_mb"] = parts.megabytes() | {"resident_growth": held.resident_growth_bytes / MIB}
    ram_reason = reason.get("Peak RAM (MB)", "")
    fill(record, "Peak RAM (MB)", [] if ram_reason else parts.totals(), ram_reason)
    fill(record, "Disk Read (MB)", reads, reason.get("disk", ""))
    fill(record, "Disk Write (MB)", writes, reason.get("disk", ""))
    if tools.vram:
        try:
            peak, meta["vram_mb"] = tools.vram.read(held.prepared.allocator)
            fill(record, "Peak VRAM (MB)", [peak])
        except Unavailable as error:
            fill(record, "Peak VRAM (MB)", [], str(error))
    else:
        fill(record, "Peak VRAM (MB)", [], "the model runs on the processor")
    return spent


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
    from nnirp.profiling.calibration import calibrator

    tools = Instruments(
        settings, bench, calibrator(settings.device) if settings.calibrate else None, cores, folder, environment
    )
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
    bench.before_model = tools.vram.before_model
    return tools
