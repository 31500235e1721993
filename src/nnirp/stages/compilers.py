"""compilers: the rows of the compiler benchmark become metrics, rankings, charts and one run a compiler."""

import hashlib

from nnirp.compilers.analysis import Analysis, analyse
from nnirp.compilers.configuration import load_grid
from nnirp.compilers.report import run_metrics, write_report
from nnirp.compilers.rows import read_rows
from nnirp.project import Project, publishing
from nnirp.tracking.record import context_tags
from nnirp.tracking.run import start_run
from nnirp.tracking.store import Store


def run(project: Project, *, statistic: str | None = None) -> Analysis:
    """Write `reports/compilers/` from `data/benchmarks/` and return what it says.

    Args:
        statistic: of the repeats, that latencies are: mean, median, p10 or min; the grid's by default.

    Raises:
        InputError: there is no row, or a file is none.
    """
    analysis = analyse(read_rows(project.data / "benchmarks"), load_grid().measurement, statistic)
    with publishing(project.reports / "compilers", work=project.work) as (draft,):
        write_report(analysis, draft)
        record_compilers(project, analysis, draft / "runs")
    return analysis


def record_compilers(project: Project, analysis: Analysis, folder) -> None:
    """One run a device and compiler, whose curves have the batch as their step; the same pair is the same run."""
    store, tags = Store(project.root), context_tags(project.root)
    for (device, compiler), runs in analysis.runs.groupby(["device", "compiler"]):
        known = tags | {"device": str(device), "compiler": str(compiler), "predictor": "all", "protocol": "all"}
        parameters = {
            "compiler": compiler,
            "device": device,
            "statistic": analysis.statistic,
            "settings": str(runs["settings"].dropna().max()) if runs["settings"].notna().any() else "",
        }
        place = folder / str(device) / str(compiler)
        place.mkdir(parents=True)
        with start_run("compile", f"{compiler} on {device}", place, parameters=parameters, tags=known) as tracked:
            tracked.record.id = hashlib.sha256(f"{device}/{compiler}".encode()).hexdigest()[:32]
            metrics, tracked.record.curves = run_metrics(analysis, str(device), str(compiler))
            tracked.metrics(metrics)
            runs.drop(columns=["error"]).to_csv(place / "runs.csv", index=False, float_format="%.6g")
            tracked.artifact("runs.csv")
    try:
        store.sync([folder])
    except Exception as error:  # a tracking server that is down fails no analysis
        import logging

        logging.getLogger(__name__).warning("%s; `nnirp tracking sync` adds the runs later", error)
