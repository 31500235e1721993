"""report: the comparison as Markdown, HTML, charts and tables."""

import json

from nnirp.evaluation.comparison import compare
from nnirp.evaluation.report import write_report
from nnirp.evaluation.runs import load_scores
from nnirp.project import Project, publishing
from nnirp.splits.index import read_index
from nnirp.tracking.record import dataset_revision, device_name


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
        write_report(comparisons, whole, notes=provenance(project))
        for name, draft in zip(names, drafts, strict=True):
            (whole / name).rename(draft)


def provenance(project: Project) -> list[str]:
    """Where the numbers come from: dataset revision, device, samples and split digests."""
    dataset = json.loads((project.manifests / "dataset.json").read_text(encoding="utf-8"))
    fingerprint = dataset.get("fingerprint") or {}
    lines = [
        f"dataset revision {dataset_revision(project.data)}, form {dataset['form']}, target statistic {dataset['target_statistic']}"
    ]
    if fingerprint:
        lines.append("measured on " + device_name(fingerprint))
    lines += [
        f"{name} split {read_index(project.data / 'splits' / f'{name}.json').digest[:12]}"
        for name in ("random", "config", "cluster", "subfamily", "family")
    ]
    return lines


def noise_floors(project: Project) -> dict[str, float]:
    """Test–retest error in percent per target, from the campaign's summary; empty where nothing was measured twice."""
    path = project.manifests / "campaign" / "summary.json"
    if not path.is_file():
        return {}
    return json.loads(path.read_text(encoding="utf-8")).get("noise_floor_percent", {})
