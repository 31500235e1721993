from types import SimpleNamespace

from nnirp.profiling.fingerprint import device_fingerprint, digest, driver_version, gpu, processor, runs_bf16

CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8480+
flags\t\t: fpu avx2 avx512f avx512_bf16 amx_bf16 hypervisor

processor\t: 1
"""


def test_processor_keeps_the_instruction_sets_that_matter():
    found = processor(CPUINFO)
    assert found["name"] == "Intel(R) Xeon(R) Platinum 8480+"
    assert found["flags"] == ["avx2", "avx512f", "avx512_bf16", "amx_bf16"]
    assert runs_bf16({"gpu": None, "processor": found})
    assert not runs_bf16({"gpu": None, "processor": {"flags": ["avx2"]}})
    assert not runs_bf16({"gpu": {"capability": "7.5"}, "processor": {"flags": []}})


def test_gpu_has_no_serial_number():
    answer = SimpleNamespace(
        name="NVIDIA H200", total_memory=140 << 30, major=9, minor=0, multi_processor_count=132, uuid="u"
    )
    found = gpu(SimpleNamespace(get_device_properties=lambda device: answer), "cuda:0")
    assert (found["name"], found["capability"], found["memory_gib"]) == ("NVIDIA H200", "9.0", 140)
    assert "u" not in found.values()


def test_driver_version_is_read_from_the_kernel_module(tmp_path):
    path = tmp_path / "version"
    path.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27\nGCC version: gcc 13.3.0\n")
    assert driver_version(path) == "580.65.06"
    assert driver_version(tmp_path / "absent") is None


def test_this_machine_has_a_stable_digest():
    one, other = device_fingerprint("cpu"), device_fingerprint("cpu")
    assert one == other
    assert digest(one) == one["digest"] != device_fingerprint("cpu", threads=2)["digest"]
