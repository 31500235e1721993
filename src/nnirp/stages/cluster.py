"""cluster: near-duplicate source configurations of a sub-family."""

import json
import os

from nnirp.catalog import Catalog
from nnirp.features.bigrams import archive_bigrams
from nnirp.project import Project, publishing
from nnirp.splits.clusters import compute_clusters, model_type_case_ids


def run(project: Project) -> None:
    """Write `manifests/clusters.json` and `manifests/hf_model_type_case_ids.json`."""
    from joblib import Parallel, delayed

    catalog = Catalog.from_json(project.manifests / "catalog.json")
    archives = {c.id: project.data / "onnx-graphs" / f"{c.id}.tar.gz" for c in catalog.configurations}
    exported = {number: path for number, path in archives.items() if path.is_file()}
    counted = Parallel(n_jobs=os.cpu_count() or 1)(delayed(archive_bigrams)(path) for path in exported.values())
    clusters = compute_clusters(
        dict(zip(exported, counted, strict=True)),
        {c.id: c.sub_family for c in catalog.configurations},
        {c.sub_family: c.family for c in catalog.configurations},
        threshold=project.parameters.cluster.similarity,
    )
    contents = (clusters, model_type_case_ids(catalog))
    targets = (project.manifests / "clusters.json", project.manifests / "hf_model_type_case_ids.json")
    with publishing(*targets, work=project.work) as drafts:
        for draft, content in zip(drafts, contents, strict=True):
            draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
