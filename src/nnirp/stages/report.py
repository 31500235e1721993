"""report: the comparison as Markdown, HTML, charts and tables."""

import json
from collections.abc import Sequence
from pathlib import Path

from nnirp.evaluation.comparison import Comparison, compare
from nnirp.evaluation.report import write_report
from nnirp.evaluation.runs import load_scores
from nnirp.layers.manifests import DatasetManifest, read_manifest
from nnirp.project import Project, publishing
from nnirp.splits.index import read_index
from nnirp.tracking.record import context_tags, dataset_revision, device_name
from nnirp.tracking.run import start_run
from nnirp.tracking.store import Store


def run(project: Project) -> None:
    """Write `reports/comparison.md`, `reports/comparison.html`, `reports/charts/` and `reports/tables/`."""
    scores = load_scores(project.reports / "scores")
    indices = {
        name: read_index(project.data / "splits" / f"{name}.json") for name in sorted(scores.rows["protocol"].unique())
    }
    floors = noise_floors(project)
    scored = [target for target in project.parameters.encode.targets if target in set(scores.rows["target"])]
    comparisons = [compare(scores, indices, target=target, noise_floor_percent=floors.get(target)) for target in scored]
    names = ("comparison.md", "comparison.html", "charts", "tables")
    with publishing(*(project.reports / name for name in names), work=project.work) as drafts:
        whole = drafts[0].with_name("report")
        write_report(comparisons, whole, notes=provenance(project), more=compiler_sections(project))
        record_figures(project, comparisons, whole / "charts")
        for name, draft in zip(names, drafts, strict=True):
            (whole / name).rename(draft)


def compiler_sections(project: Project) -> list[dict]:
    """Sections of the compiler benchmark, one a device; none before it was analysed."""
    path = project.reports / "compilers" / "section.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def record_figures(project: Project, comparisons: Sequence[Comparison], charts: Path) -> None:
    """Record the comparison as one run whose artefacts are its charts, so that the MLflow UI shows them."""
    tags = context_tags(project.root) | {
        "dataset_revision": dataset_revision(project.data),
        "protocol": "all",
        "predictor": "all",
        "seed": "all",
    }
    parameters = {
        "predictors": ", ".join(sorted({p for c in comparisons for p in c.predictors})),
        "protocols": ", ".join(comparisons[0].protocols),
    }
    with start_run(
        "evaluate", "comparison", charts, parameters=parameters, tags=tags, store=Store(project.root)
    ) as run:
        for path in sorted(charts.glob("*.svg")):
            run.artifact(path.name)
        for comparison in comparisons:
            if comparison.noise_floor_percent is not None:
                run.metrics({f"{comparison.target}.noise_floor_percent": comparison.noise_floor_percent})
            for row in comparison.inflation.itertuples():
                run.metrics({f"{comparison.target}.inflation.{row.predictor}": row.factor})


def provenance(project: Project) -> list[str]:
    """Where the numbers come from: dataset revision, device, samples and split digests."""
    dataset = json.loads((project.manifests / "dataset.json").read_text(encoding="utf-8"))
    fingerprint = dataset.get("fingerprint") or {}
    lines = [
        f"dataset revision {dataset_revision(project.data)}, form {dataset['form']}, target statistic {dataset['target_statistic']}"
    ]
    if fingerprint:
        lines.append("measured on " + device_name(fingerprint))
    drawn = (
        project.data / "splits" / f"{name}.json" for name in ("random", "config", "cluster", "subfamily", "family")
    )
    lines += [f"{path.stem} split {read_index(path).digest[:12]}" for path in drawn if path.is_file()]
    return lines


def noise_floors(project: Project) -> dict[str, float]:
    """Median test–retest difference of each target in percent, for the statistic that is the label; none without a retest."""
    path = project.manifests / "campaign" / "summary.json"
    if not path.is_file():
        return {}
    floor = json.loads(path.read_text(encoding="utf-8")).get("noise_floor", {})
    if not floor.get("pairs"):
        return {}
    statistic = read_manifest(project.manifests / "dataset.json", DatasetManifest).target_statistic
    found = {"runtime_ms": 100 * floor["runtime"][statistic]["median"]}
    if floor["peak_ram"]:
        found["peak_ram_mb"] = 100 * floor["peak_ram"]["median"]
    return found
