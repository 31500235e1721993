"""Tables with a column mapping: units, devices, repetitions, and lines that cannot be used."""

import json

import pytest

from nnirp import load_dataset
from nnirp.cli import guarded
from nnirp.errors import InputError
from nnirp.importers.csv_file import read_csv
from nnirp.importers.table import import_csv, of_device, read_rows, resolve_columns
from nnirp.layers.verify import verify


def rows(folder, text, **asked):
    path = folder / "table.csv"
    path.write_text(text)
    columns, lines = read_csv(path, "a table")
    return read_rows(lines, resolve_columns(asked, columns, path), folder, batch=None)


@pytest.fixture
def table(tmp_path, make_network):
    """Six files in three families, two devices, a repeated line and four lines that cannot be used."""
    lines = ["path;bs;seconds;ram;kind;on"]
    for number, operator in enumerate(["Relu", "Sigmoid", "Tanh", "Exp", "Neg", "Abs"]):
        name = make_network(tmp_path / "nets" / f"{operator}.onnx", depth=number + 2, operator=operator, symbolic=True)
        place, family = name.relative_to(tmp_path), ("mlps", "cnns", "rnns")[number % 3]
        lines += [f"{place};{batch};{0.001 * batch * (number + 1)};2048;{family};phone" for batch in (1, 2, 4)]
    lines += [
        lines[1].replace("0.001", "0.003"),
        "nets/Relu.onnx;1;9;9;mlps;laptop",
        "nets--Relu.onnx;1;9;9;mlps;phone",
        "nets/missing.onnx;1;9;9;mlps;phone",
        "nets/Relu.onnx;8;-1;9;mlps;phone",
        "no_such_net;8;1;9;mlps;phone",
    ]
    make_network(tmp_path / "nets--Relu.onnx")
    (tmp_path / "table.csv").write_text("\n".join(lines))
    return tmp_path / "table.csv"


MAPPING = ["model=path", "batch=bs", "runtime_s=seconds", "peak_ram_kb=ram", "family=kind", "device=on"]


def test_a_table_of_files_becomes_a_dataset_root(table, tmp_path, monkeypatch, capsys):
    output = tmp_path / "root"
    options = [word for pair in MAPPING for word in ("--column", pair)]
    arguments = ["nnirp", "import", "csv", str(table), str(output), *options, "--device", "phone", "--json"]
    monkeypatch.setattr("sys.argv", arguments)
    from nnirp.cli import app

    with pytest.raises(SystemExit) as stop:
        raise SystemExit(guarded(app))
    assert not stop.value.code
    report = json.loads(capsys.readouterr().out)
    assert (report["rows"], report["imported"], report["samples"]) == (23, 19, 18)
    reasons = " ".join(report["left_out"].values())
    assert all(
        word in reasons for word in ("no such file", "no positive number", "neither an ONNX file", "no_such_net")
    )
    assert verify(output) == []
    data = load_dataset(output, protocol="family", fold="mlps")
    assert data.test.targets == ("runtime_ms", "peak_ram_mb") and len(data.test) == 6
    first = next(g for g in data.test if g.sample == "nets--Relu_b1_fp32")
    assert first.y[0].exp2().tolist() == pytest.approx([2.0, 2.0])  # the median of 1 and 3 ms; 2048 KiB
    assert first.family == "mlps" and first.input_batch == 1 and first.u[0, 4] == 0


def test_models_of_timm_and_of_the_catalog_are_named_instead_of_a_file(tmp_path):
    text = "model,batch,size,runtime_us,energy_mj\nresnet18,4,128,1500,\nresnet18,4,,1500,20\nresnet50,1,160,1,1\n"
    found, left_out = rows(tmp_path, text)
    assert not left_out and [row.base for row in found] == ["resnet18_im128", "resnet18_im224", "resnet50_im160"]
    assert found[0].taxonomy == ("convolutional", "resnet") and found[0].values == {"runtime_ms": 1.5}
    assert found[1].values == {"runtime_ms": 1.5, "energy_j": pytest.approx(0.02)}
    (row,), _ = rows(tmp_path, "model,runtime_ms\nopenai-community/gpt2,1\n")
    assert (row.source.kind, row.taxonomy[0]) == ("catalog", "attention_decoder")


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        ("model,ms\na,1\n", {"runtime_ms": "latency"}, "has no such column, it has model, ms"),
        ("model,ms\na,1\n", {"runtime_min": "ms"}, "'runtime_min' is none of model, batch"),
        ("model,ms\na,1\n", {}, "add --column runtime_ms=<column>"),
        ("net,runtime_ms\na,1\n", {}, "add --column model=<column>"),
        ("model,runtime_ms,runtime_s\na,1,1\n", {}, "runtime_ms is mapped to two columns"),
        ("model,model\na,1\n", {}, "two columns of one name"),
        ("model,runtime_ms\na,1,2\n", {}, "line 2: 3 cells"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(tmp_path, text, asked, message):
    with pytest.raises(InputError, match=message):
        rows(tmp_path, text, **asked)


def test_a_root_holds_one_device():
    lines = [(2, {"on": "phone"}), (3, {"on": "laptop"}), (4, {"on": "phone"})]
    assert of_device(lines, {"device": "on"}, "laptop", "t.csv") == ("laptop", lines[1:2])
    with pytest.raises(InputError, match=r"phone \(2\), laptop \(1\); choose one with --device"):
        of_device(lines, {"device": "on"}, None, "t.csv")
    with pytest.raises(InputError, match="give --device"):
        of_device(lines, {}, None, "t.csv")


def test_a_table_of_which_nothing_is_usable_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("model,runtime_ms\nnothing_like_it,1\n")
    with pytest.raises(InputError, match="nothing could be imported; line 2: 'nothing_like_it' is neither"):
        import_csv(tmp_path / "t.csv", tmp_path / "root", columns={}, device="phone")
