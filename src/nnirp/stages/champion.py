"""champion: the kept additive roofline as an ONNX network, so that it answers without torch."""

import logging

from nnirp.prediction.fast.exporting import export_champion, some_graphs
from nnirp.prediction.kept import find_kept
from nnirp.project import Project, publishing

log = logging.getLogger(__name__)


def run(project: Project) -> None:
    """Write `champion/`, checked against the predictor on graphs of the layer."""
    kept = find_kept(project.models, project.manifests)
    with publishing(project.champion, work=project.work) as (folder,):
        folder.mkdir()
        worst = export_champion(kept.weights, some_graphs(project.data / "onnx-graphs", kept.form), folder)
    log.info("the exported predictor differs by at most %.1e in log2", worst)
