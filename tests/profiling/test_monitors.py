"""Monitors against recorded answers of the kernel, NVML and torch's CUDA allocator."""

import os
from types import SimpleNamespace

import pytest

from nnirp.profiling.monitors import MIB, Unavailable, contention, disk, memory
from nnirp.profiling.monitors.energy import Rapl, per_inference
from nnirp.profiling.monitors.nvml import open_nvml
from nnirp.profiling.monitors.vram import VramMonitor

STATUS = """Name:\tpython
VmHWM:\t  416424 kB
VmRSS:\t   25988 kB
RssAnon:\t   12652 kB
RssFile:\t   13336 kB
RssShmem:\t       0 kB
VmData:\t   89260 kB
"""


def test_status_is_read_in_bytes_and_file_pages_left_out_of_the_peak():
    found = memory.parse_status(STATUS)
    assert found.anonymous == 12652 * 1024
    assert found.private_peak == (416424 - 13336) * 1024


def test_a_kernel_without_the_fields_is_a_reason():
    with pytest.raises(Unavailable, match="VmHWM"):
        memory.parse_status("Name:\tpython\n")


def test_the_high_water_mark_of_an_allocation_is_seen_and_reset():
    memory.settle()
    memory.reset_peak()
    before = memory.resident()
    block = bytearray(b"x") * (64 << 20)
    del block
    assert 60 << 20 <= memory.resident().peak - before.total <= 160 << 20
    memory.reset_peak()
    assert memory.resident().peak - before.total < 32 << 20


def test_peak_is_model_and_run_parts_together():
    parts = memory.MemoryParts(100 * MIB, 10 * MIB, 30 * MIB, 500 * MIB)
    assert parts.total() == 130
    assert parts.megabytes() == {"process_peak": 500, "model": 100, "inputs": 10, "workspace": 20}


def test_disk_traffic_takes_off_what_was_never_written(tmp_path):
    path = tmp_path / "io"
    path.write_text("rchar: 5\nread_bytes: 4194304\nwrite_bytes: 3145728\ncancelled_write_bytes: 1048576\n")
    assert (disk.traffic(path) - disk.Traffic(0, 0)).megabytes() == (4, 2)
    with pytest.raises(Unavailable):
        disk.traffic(tmp_path / "absent")


def test_folder_bytes_counts_blocks(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 10_000)
    assert disk.folder_bytes(tmp_path) >= 10_000


def rapl(root, *microjoules, most=1000):
    for number, value in enumerate(microjoules):
        zone = root / f"intel-rapl:{number}"
        zone.mkdir(exist_ok=True)
        (zone / "energy_uj").write_text(f"{value}\n")
        (zone / "max_energy_range_uj").write_text(f"{most - 1}\n")


def test_rapl_adds_packages_and_survives_a_wrap(tmp_path):
    rapl(tmp_path, 900, 100)
    counter = Rapl(tmp_path)
    rapl(tmp_path, 50, 300)  # 150 after the wrap, and 200
    assert counter.joule() == pytest.approx(350e-6)


def test_no_rapl_is_a_reason(tmp_path):
    with pytest.raises(Unavailable, match="virtual machine"):
        Rapl(tmp_path)


class NVMLError(Exception):
    pass


def nvml(**changes):
    answers = {
        "NVMLError": NVMLError,
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetUUID": lambda handle: ["GPU-aaaa-0", "GPU-bbbb-1"][handle],
        "nvmlDeviceGetComputeRunningProcesses": lambda handle: [
            SimpleNamespace(pid=7, usedGpuMemory=300 * MIB),
            SimpleNamespace(pid=8, usedGpuMemory=1),
        ],
        "nvmlDeviceGetUtilizationRates": lambda handle: SimpleNamespace(gpu=87, memory=40),
        "nvmlDeviceGetTotalEnergyConsumption": lambda handle: 12_500,
    }
    return SimpleNamespace(**{**answers, **changes})


def test_a_gpu_is_found_by_uuid_not_by_index():
    found = open_nvml("BBBB-1", nvml())
    assert found.handle == 1
    assert found.process_memory(7) == 300 * MIB
    assert found.process_memory(99) is None
    assert found.other_processes() == 0  # the driver does not know this process, as in a container
    known = nvml(nvmlDeviceGetComputeRunningProcesses=lambda h: [SimpleNamespace(pid=p) for p in (os.getpid(), 7, 8)])
    assert open_nvml("BBBB-1", known).other_processes(own=[7]) == 1
    assert found.utilisation_percent() == 87
    assert found.energy_joule() == 12.5


def test_what_nvml_refuses_is_a_reason():
    def refuse(*_):
        raise NVMLError("Driver Not Loaded")

    with pytest.raises(Unavailable, match="Driver Not Loaded"):
        open_nvml("x", nvml(nvmlInit=refuse))
    with pytest.raises(Unavailable, match="UUID"):
        open_nvml("cccc", nvml())
    with pytest.raises(Unavailable, match="Driver"):
        open_nvml("aaaa-0", nvml(nvmlDeviceGetTotalEnergyConsumption=refuse)).energy_joule()


def test_energy_is_the_counters_difference_over_the_inferences():
    counter = iter([100.0, 130.0])
    assert per_inference(lambda: next(counter), lambda: 60) == 0.5


def cuda(**changes):
    answers = {
        "synchronize": lambda device: None,
        "empty_cache": lambda: None,
        "memory_allocated": lambda device: 5 * MIB,
        "reset_peak_memory_stats": lambda device: None,
        "max_memory_allocated": lambda device: 105 * MIB,
        "max_memory_reserved": lambda device: 128 * MIB,
    }
    return SimpleNamespace(**{**answers, **changes})


def test_vram_is_the_allocators_peak_above_what_others_hold():
    monitor = VramMonitor(cuda(), "cuda", None)
    monitor.before_prepare()
    monitor.start()
    peak, parts = monitor.read("torch", own_bytes=3 * MIB)
    assert peak == 103  # 105 at most, 5 held, of which 3 are the model's own
    assert parts == {"allocator_peak": 105, "allocator_reserved": 128, "process": None}
    with pytest.raises(Unavailable, match="own allocator"):
        monitor.read("runtime", own_bytes=0)


def test_vram_of_a_runtime_with_its_own_allocator_is_the_growth_of_the_process():
    totals = iter([100 * MIB, 175 * MIB])
    monitor = VramMonitor(cuda(), "cuda", SimpleNamespace(process_memory=lambda: next(totals)))
    monitor.before_prepare()
    assert monitor.read("runtime", own_bytes=3 * MIB)[0] == 75


def stat(path, *, user, steal):
    path.write_text(f"cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 0 1 0 0 0 0 0 0 0\ncpu1 {user} 0 0 500 0 0 0 {steal} 0 0\n")
    return contention.core_time({1}, path)


def test_time_taken_by_others_and_by_the_hypervisor(tmp_path):
    first, second = stat(tmp_path / "a", user=100, steal=0), stat(tmp_path / "b", user=200, steal=13)
    first = contention.CoreTime(first.busy, first.stolen, 0.0)
    second = contention.CoreTime(second.busy, second.stolen, 1.0)
    found = contention.shares(first, second, 0.87, 1)
    assert found["others"] == pytest.approx(0.10)
    assert found["stolen"] == pytest.approx(0.10)
    assert contention.shares(None, second, 0.0, 1) is None
