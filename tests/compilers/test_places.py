import pytest

from nnirp.compilers.configuration import load_compiler
from nnirp.compilers.places import place_of
from nnirp.errors import InputError

FINGERPRINT = {"device": "cpu", "processor": {"name": "a"}, "cores": 1, "libraries": {"torch": "2.14"}, "digest": "x"}


@pytest.fixture
def place(tmp_path):
    return place_of(tmp_path / "benchmarks", tmp_path / ".work", "xeon")


def test_a_label_means_one_machine(place, measurement):
    place.identify(load_compiler("identity"), measurement, FINGERPRINT)
    place.identify(load_compiler("openvino"), measurement, FINGERPRINT | {"libraries": {"openvino": "2026"}})
    with pytest.raises(InputError, match=r"another machine \(machine.processor differ\); give another label"):
        place.identify(load_compiler("tvm"), measurement, FINGERPRINT | {"processor": {"name": "b"}})


def test_a_compilers_folder_holds_one_version_and_one_way_of_compiling(place, measurement):
    place.identify(load_compiler("onnxruntime"), measurement, FINGERPRINT)
    with pytest.raises(InputError, match=r"fingerprint\.libraries"):
        place.identify(load_compiler("onnxruntime"), measurement, FINGERPRINT | {"libraries": {"torch": "2.15"}})
    basic = load_compiler("onnxruntime").model_copy(update={"options": {"graph_optimisation": "basic"}})
    with pytest.raises(InputError, match=r"settings\.options"):
        place.identify(basic, measurement, FINGERPRINT)
    patient = measurement.model_copy(update={"timeout_s": 1.0})
    place.identify(load_compiler("onnxruntime"), patient, FINGERPRINT)
