"""cluster: near-duplicate source configurations of a sub-family."""

import json

from nnirp.catalog import Catalog
from nnirp.project import Project, publishing
from nnirp.splits.clusters import cluster_configurations, graph_bigrams, model_type_case_ids


def run(project: Project) -> None:
    """Write `manifests/clusters.json` and `manifests/hf_model_type_case_ids.json`."""
    catalog = Catalog.from_json(project.manifests / "catalog.json")
    bigrams = graph_bigrams(project.data / "onnx-graphs", [c.id for c in catalog.configurations])
    contents = (
        cluster_configurations(catalog, bigrams, similarity=project.parameters.cluster.similarity),
        model_type_case_ids(catalog),
    )
    targets = (project.manifests / "clusters.json", project.manifests / "hf_model_type_case_ids.json")
    with publishing(*targets, work=project.work) as drafts:
        for draft, content in zip(drafts, contents, strict=True):
            draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
