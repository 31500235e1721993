import json

import pytest

from nnirp.compilers.analysis import analyse
from nnirp.compilers.report import findings, run_metrics, shown_tables, write_report
from nnirp.compilers.rows import write_row
from nnirp.project import Project
from nnirp.tracking.record import read_record

SPEED = {"identity": 1.0, "inductor": 1.3, "tvm": 0.01}


@pytest.fixture
def rows(make_row):
    found = []
    for compiler, speed in SPEED.items():
        for model, base in (("resnet50", 50.0), ("convnext_tiny", 45.0)):
            for batch in (1, 8):
                gain = speed * (1.5 if model == "resnet50" and compiler == "inductor" else 1)
                found.append(make_row(compiler, model, batch, base * batch**0.9 / gain))
        for depth in (1, 4):
            changes = {"experiment": "conv_blocks", "width": 64, "depth": depth}
            found.append(make_row(compiler, f"w64_d{depth}", 1, 3.0 * depth / speed ** (depth / 2), **changes))
    return [*found, make_row("tvm", "resnet18", 1)]


def test_findings_say_what_turns_and_what_grows(rows, measurement):
    lines = "\n".join(findings(analyse(rows, measurement), "cpu"))
    assert "18 of 19 runs measured" in lines and "tvm is untuned" in lines
    assert "architectures, inductor: 2 of 2 rankings against identity turn, 2 of them beyond both intervals" in lines
    assert "resnet50 overtakes convnext_tiny at batch 1, 8" in lines
    assert "conv_blocks, inductor: doubling the depth multiplies the speed-up by" in lines
    assert "it rises in 1, falls in 0" in lines


def test_the_report_has_tables_charts_and_a_section_and_is_the_same_again(rows, measurement, tmp_path):
    analysis = analyse(rows, measurement)
    for folder in ("one", "two"):
        write_report(analysis, tmp_path / folder)
    names = sorted(str(path.relative_to(tmp_path / "one")) for path in (tmp_path / "one").rglob("*.*"))
    assert {"compilers.md", "section.json", "tables/metrics.csv", "tables/reversals.csv"} <= set(names)
    charts = {f"charts/cpu-{n}.svg" for n in ("best-compiler", "scaling-architectures", "depth-conv_blocks")}
    assert charts <= set(names)
    assert all((tmp_path / "one" / n).read_bytes() == (tmp_path / "two" / n).read_bytes() for n in names)
    for chart in charts:
        assert "NaN" not in (tmp_path / "one" / chart).read_text()
    page = (tmp_path / "one" / "compilers.md").read_text()
    assert "timeout: no result within 600 s" in page and "| – |" in page


def test_scaling_is_never_shown_without_the_speed_up(rows, measurement):
    captions = [caption for caption, _ in shown_tables(analyse(rows, measurement), "cpu")]
    assert captions[:3] == [
        "speed-up over identity at batch 1",
        "speed-up over identity at batch 8",
        "scaling efficiency ASE at batch 8",
    ]


def test_a_run_has_a_curve_over_the_batch(rows, measurement):
    metrics, curves = run_metrics(analyse(rows, measurement), "cpu", "inductor")
    assert metrics["reversals"] == 2 and metrics["status/ok"] == 6
    assert [step for step, _ in curves["ase/architectures/resnet50"]] == [1, 8]
    assert curves["speed_up/architectures/resnet50"][0][1] == pytest.approx(1.95)


def test_the_stage_publishes_a_record_a_compiler_that_stays_one_run(rows, tmp_path, monkeypatch):
    from nnirp.stages import compilers

    synced = []
    monkeypatch.setattr("nnirp.compilers.report.figures", lambda *_: {})  # drawn elsewhere
    monkeypatch.setattr(compilers.Store, "sync", lambda self, folders: synced.extend(folders))
    project = Project(tmp_path)
    for row in rows:
        write_row(row, tmp_path / "data" / "benchmarks" / "cpu" / row["compiler"] / f"{row['run']}.csv")
    compilers.run(project)
    ids = {}
    for _ in range(2):
        found = sorted((tmp_path / "reports" / "compilers" / "runs").rglob("run.json"))
        assert [path.parent.name for path in found] == ["identity", "inductor", "tvm"]
        for path in found:
            record = read_record(path)
            assert record.kind == "compile" and record.status == "finished"
            assert record.tags["compiler"] == path.parent.name and (path.parent / record.artifacts[0]).is_file()
            assert ids.setdefault(path.parent.name, record.id) == record.id
        compilers.run(project)
    assert len(synced) == 3


def test_the_section_fits_the_page_of_the_comparison(rows, measurement, tmp_path):
    import jinja2

    from nnirp.evaluation import report

    write_report(analyse(rows, measurement), tmp_path)
    sections = json.loads((tmp_path / "section.json").read_text())
    template = (report.files("nnirp.evaluation") / "templates" / "comparison.html.j2").read_text()
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(template).render(title="t", introduction="", notes=[], sections=sections)
    assert "compilers on cpu" in page and page.count("<svg") >= 3 and 'class="best"' in page
