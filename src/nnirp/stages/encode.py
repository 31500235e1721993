"""encode: graphs and measurements become PyTorch Geometric samples."""

import os

from nnirp.layers.encode_layer import encode_layer
from nnirp.progress import progress
from nnirp.project import Project, publishing


def run(project: Project) -> None:
    """Write `pyg-features/`, `manifests/dataset.json` and `manifests/memory.json`."""
    parameters = project.parameters.encode
    targets = (project.data / "pyg-features", project.manifests / "dataset.json", project.manifests / "memory.json")
    with publishing(*targets, work=project.work) as (features, dataset, memory), progress("encode") as report:
        encode_layer(
            project.data,
            features=features,
            dataset_manifest=dataset,
            memory_manifest=memory,
            targets=parameters.targets,
            statistic=parameters.statistic,
            form=parameters.form,
            jobs=os.cpu_count() or 1,
            on_progress=report,
        )
