import zipfile

import pytest

from nnirp.compilers.analysis import analyse
from nnirp.compilers.rows import read_rows
from nnirp.compilers.traces import import_traces
from nnirp.errors import InputError, UnsafeFileError

COLUMNS = """
columns: {model: net, batch: bs, latency: seconds, status: state}
unit: s
failed: [OOM]
constants: {experiment: architectures}
path: '(?P<device>[^/]+)/(?P<compiler>[^/]+)/[^/]+$'
rename: {compiler: {pytorch: identity, ort: onnxruntime}}
"""


@pytest.fixture
def columns(tmp_path):
    path = tmp_path / "columns.yaml"
    path.write_text(COLUMNS)
    return path


@pytest.fixture
def traces(tmp_path):
    def lines(factor):
        rows = [f"{net},{b},{factor[net] * b * (1 + i / 1000)},ok" for net in "ab" for b in (1, 8) for i in range(20)]
        return "net,bs,seconds,state\n" + "\n".join(rows) + "\n"

    path = tmp_path / "results_raw.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("traces/orin/pytorch/run.csv", lines({"a": 0.01, "b": 0.02}) + "c,1,,OOM\n")
        archive.writestr("traces/orin/ort/run.csv", lines({"a": 0.009, "b": 0.004}) + "a,one,1,ok\n")
        archive.writestr("traces/README.md", "not a table")
    return path


def test_a_zip_of_raw_traces_is_analysed_like_own_rows(tmp_path, traces, columns, measurement):
    summary = import_traces(traces, columns, tmp_path / "benchmarks")
    assert (summary["runs"], summary["measured"], summary["failed"], summary["compilers"]) == (9, 8, 1, 2)
    assert sum(summary["left_out"].values()) == 1
    rows = read_rows(tmp_path / "benchmarks")
    assert {row["device"] for row in rows} == {"orin"} and max(row["repeats"] or 0 for row in rows) == 20
    found = analyse(rows, measurement)
    line = found.metrics.query("compiler == 'onnxruntime' and model == 'b' and batch == 8").iloc[0]
    assert line["speed_up"] == pytest.approx(5) and line["ase"] == pytest.approx(1 / 8)
    assert line["speed_up_low"] < 5 < line["speed_up_high"]
    assert list(found.reversals["batch"]) == [1, 8] and found.reversals["certain"].all()


def test_throughputs_of_a_csv_file_become_latencies_without_an_interval(tmp_path, measurement):
    table = tmp_path / "t.csv"
    table.write_text("compiler;model;batch;rate\nidentity;a;4;200\nidentity;a;1;100\n")
    (tmp_path / "c.yaml").write_text(
        "columns: {compiler: compiler, model: model, batch: batch, throughput: rate}\n"
        "constants: {experiment: architectures, device: x}\ndelimiter: ';'\n"
    )
    import_traces(table, tmp_path / "c.yaml", tmp_path / "benchmarks")
    line = analyse(read_rows(tmp_path / "benchmarks"), measurement).metrics.set_index("batch").loc[4]
    assert line["throughput"] == pytest.approx(200) and line["ase"] == pytest.approx(0.5)
    assert line["ase_low"] != line["ase_low"] and "fewer than three repeats" in line["ase_reason"]


def test_importing_again_replaces_and_own_measurements_are_never_overwritten(tmp_path, traces, columns, make_row):
    from nnirp.compilers.rows import write_row

    benchmarks = tmp_path / "benchmarks"
    import_traces(traces, columns, benchmarks)
    assert import_traces(traces, columns, benchmarks)["runs"] == 9 == len(read_rows(benchmarks))
    own = make_row("identity", "m", 1, 3.0, device="orin")
    write_row(own, benchmarks / "orin" / "identity" / "own.csv")
    with pytest.raises(InputError, match="another label"):
        import_traces(traces, columns, benchmarks)
    assert len(read_rows(benchmarks)) == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("bs", "size_of_batch"), "no column 'size_of_batch'"),
        (("model: net", "modell: net"), "modell"),
        (("constants: {experiment: architectures}", ""), "nothing says the experiment"),
        (("latency: seconds, ", ""), "one of latency and throughput"),
        (("unit: s", "unit: hours"), "unit"),
        (("[^/]+$'", "['"), "cannot be read"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(tmp_path, traces, columns, change, message):
    columns.write_text(COLUMNS.replace(*change))
    with pytest.raises(InputError, match=message):
        import_traces(traces, columns, tmp_path / "benchmarks")
    assert not (tmp_path / "benchmarks").exists()


def test_a_zip_that_unpacks_to_too_much_is_refused(tmp_path, traces, columns, monkeypatch):
    monkeypatch.setattr("nnirp.compilers.traces.MAX_BYTES", 100)
    with pytest.raises(UnsafeFileError, match="unpacks to more"):
        import_traces(traces, columns, tmp_path / "benchmarks")


def test_a_path_in_a_trace_cannot_leave_the_folder(tmp_path, columns):
    table = tmp_path / "t.csv"
    table.write_text("device,compiler,model,batch,latency\n../..,identity,a,1,1\ncpu,identity,../../x,1,1\n")
    fields = ("device", "compiler", "model", "batch", "latency")
    columns.write_text(f"columns: {{{', '.join(f'{f}: {f}' for f in fields)}}}\nconstants: {{experiment: e}}\n")
    import_traces(table, columns, tmp_path / "benchmarks")
    assert [p.name for p in (tmp_path / "benchmarks").rglob("*.csv")] == ["e_..-..-x_b1.csv"]
