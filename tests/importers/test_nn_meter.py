import json

import numpy as np
import pytest
from nn_meter_tables import image, plain, residual, write_tables
from typer.testing import CliRunner

import nnirp
from nnirp.cli import app, guarded
from nnirp.errors import InputError
from nnirp.importers import nn_meter
from nnirp.importers.nn_meter import choose, import_nn_meter
from nnirp.importers.nn_meter_source import read_tables
from nnirp.layers.archives import iter_archive
from nnirp.layers.records import read_record
from nnirp.layers.verify import verify


def strange():
    network = image()
    network.conv(4)
    network.add("Softmax")
    return network.classifier()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Three families; one graph cannot be mapped, one has no latency on the phone, none of `c` has one on the tablet."""
    networks = [("a", plain(4 + i % 5, depth=1 + i % 3)) for i in range(12)]
    networks += (
        [("b", residual(4 + i)) for i in range(6)] + [("b", strange())] + [("c", plain(9, 4)), ("c", plain(7, 4))]
    )
    phone = [10.0 + i for i in range(len(networks))]
    phone[3] = None
    tablet = [20.0 + i for i in range(len(networks) - 2)] + [None, None]
    return write_tables(tmp_path_factory.mktemp("tables"), networks, phone_ms=phone, tablet_ms=tablet)


@pytest.fixture(scope="module")
def root(source, tmp_path_factory):
    output = tmp_path_factory.mktemp("imported") / "root"
    import_nn_meter(source, output, device="phone")
    return output


def report_of(root):
    return json.loads((root / "manifests" / "import.json").read_text())


def records_of(root):
    return {
        name.removesuffix(".json"): read_record(content)
        for path in (root / "profiling").iterdir()
        for name, content in iter_archive(path)
    }


def test_the_root_is_whole_and_loads(root):
    assert verify(root) == []
    dataset = nnirp.load_dataset(root, protocol="family", fold="b")
    assert {graph.family for graph in dataset.test} == {"b"} and len(dataset.test) == 6
    graph = dataset.test[0]
    assert graph.y.shape == (1, 1) and graph.y.item() == pytest.approx(np.log2(10.0 + int(graph.sample[2:7])))


def test_the_report_counts_what_was_mapped_and_names_what_was_not(root):
    report = report_of(root)
    assert (report["graphs"], report["mapped"], report["samples"]) == (21, 20, 19)
    assert report["unmapped_operators"] == {"Softmax": 1}
    assert report["left_out"] == {"b-00018_im8_b1_fp32": "node 2, Softmax: there is no rule for this operator"}
    assert report["without_label"] == ["a-00003_im8_b1_fp32"]
    assert report["nodes"] - report["nodes_mapped"] == len(strange().ops)
    assert report["families"]["b"] == {"graphs": 7, "labelled": 7, "median_ms": 25.0}
    assert report["arithmetic"]["largest_relative_difference"] < 1e-5


def test_a_record_has_the_mean_alone_and_says_so(root):
    records = records_of(root)
    one = records["a-00005_im8_b1_fp32"]
    assert one.metrics["Runtime (ms)"].mean == 15.0 and one.metrics["Runtime (ms)"].count == 1
    assert one.metrics["Peak RAM (MB)"] is None and one.meta.reasons["Peak RAM (MB)"]
    assert one.meta.batch == 1 and one.meta.times_ms == [] and "count is 1" in one.meta.reported
    missing = records["a-00003_im8_b1_fp32"]
    assert missing.meta.status == "skipped" and not any(missing.metrics.values())


def test_another_device_is_another_root(source, tmp_path):
    report = import_nn_meter(source, tmp_path / "tablet", device="tablet", families=["a", "c"], jobs=2)
    assert report["samples"] == 12 and len(report["without_label"]) == 2 and verify(tmp_path / "tablet") == []


def test_the_same_tables_give_the_same_bytes(root, source, tmp_path):
    import_nn_meter(source, tmp_path / "again", device="phone")
    files = sorted(p.relative_to(root) for p in root.rglob("*.tar.gz"))
    assert files and all((root / f).read_bytes() == (tmp_path / "again" / f).read_bytes() for f in files)


def test_a_killed_import_goes_on_and_nothing_appears_before_the_end(root, source, tmp_path, monkeypatch):
    made = []

    def dying(task):
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(task.configuration)
        return original(task)

    original = nn_meter.make_part
    monkeypatch.setattr(nn_meter, "make_part", dying)
    output = tmp_path / "root"
    with pytest.raises(KeyboardInterrupt):
        import_nn_meter(source, output, device="phone")
    assert [path.name for path in output.iterdir()] == [".work"] and len(made) == 2

    def counting(task):
        made.append(task.configuration)
        return original(task)

    monkeypatch.setattr(nn_meter, "make_part", counting)
    import_nn_meter(source, output, device="phone")
    assert sorted(made) == [101, 102, 103, 201, 202, 301]  # each once
    assert report_of(output) == report_of(root) and not list((output / ".work").glob("*/"))


def test_a_folder_of_something_else_is_left_alone(source, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="name a new folder"):
        import_nn_meter(source, tmp_path, device="phone")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_limit_takes_graphs_evenly_from_each_family(source):
    tables = read_tables(source)
    assert choose(tables, None, 3).tolist() == [0, 6, 11, 12, 15, 18, 19, 20]
    assert choose(tables, ["c"], None).tolist() == [19, 20]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--device", "fridge"], "latencies of phone, tablet"), (["--device", "phone", "--families", "d"], "has a, b, c")],
)
def test_the_command_refuses_what_the_source_does_not_have(source, tmp_path, capsys, arguments, says):
    command = ["import", "nn-meter", str(source), str(tmp_path / "root"), *arguments]
    assert guarded(lambda: app(command, standalone_mode=False)) == 2
    assert says in capsys.readouterr().err and not (tmp_path / "root" / "manifests").exists()


def test_the_command_answers_with_the_report(source, tmp_path):
    command = [
        "import",
        "nn-meter",
        str(source),
        str(tmp_path / "r"),
        "--device",
        "phone",
        "--families",
        "a,b",
        "--json",
    ]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0 and json.loads(result.stdout)["samples"] == 17
