"""export: one weight-free ONNX graph a sample."""

import json
import os

from nnirp.catalog import Catalog
from nnirp.graphs.layer import export_catalog, export_manifest
from nnirp.progress import progress
from nnirp.project import Project, publishing


def run(project: Project) -> None:
    """Write `onnx-graphs/` and `manifests/export.json`; what is finished survives a kill in the work folder."""
    catalog = Catalog.from_json(project.manifests / "catalog.json")
    targets = (project.data / "onnx-graphs", project.manifests / "export.json")
    with publishing(*targets, work=project.work) as (graphs, manifest), progress("export") as report:
        rows = export_catalog(
            catalog,
            graphs,
            project.work / "export",
            opset=project.parameters.export.opset,
            jobs=os.cpu_count() or 1,
            on_progress=report,
        )
        manifest.write_text(json.dumps(export_manifest(rows), indent=1, sort_keys=True) + "\n", encoding="utf-8")
