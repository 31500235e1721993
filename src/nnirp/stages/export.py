"""export: one weight-free ONNX graph a sample."""

import json
import logging
import os

from nnirp.graphs.layer import export_catalog, export_manifest, speed
from nnirp.progress import progress
from nnirp.project import Project, publishing

log = logging.getLogger(__name__)


def run(project: Project) -> None:
    """Write `onnx-graphs/` and `manifests/export.json`; what is finished survives a kill in the work folder."""
    opset = project.parameters.export.opset
    targets = (project.data / "onnx-graphs", project.manifests / "export.json")
    with publishing(*targets, work=project.work) as (graphs, manifest), progress("export") as report:
        rows = export_catalog(
            project.manifests / "catalog.json",
            graphs,
            project.work / "export",
            opset=opset,
            jobs=os.cpu_count() or 1,
            on_progress=report,
        )
        manifest.write_text(json.dumps(export_manifest(rows, opset), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    failed = [row for row in rows if row.status != "ok"]
    log.info("%d of %d samples exported", len(rows) - len(failed), len(rows))
    log.info("one core: %s", ", ".join(f"{name} {value:.2f}" for name, value in speed(rows).items()))
    for row in failed:
        log.warning("%s: %s", row.sample, row.error)
