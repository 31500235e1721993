"""describe: the table of samples and the Croissant file of the dataset."""

import json

from nnirp.layers.croissant import croissant
from nnirp.layers.sample_index import sample_index
from nnirp.project import Project, publishing

NAME = "nnirp-reference"
VERSION = "0.1.0"
"""Raised with every published dataset."""


def run(project: Project) -> None:
    """Write `manifests/samples.csv` and `manifests/croissant.json`."""
    targets = (project.manifests / "samples.csv", project.manifests / "croissant.json")
    with publishing(*targets, work=project.work) as (table, description):
        sample_index(project.data).to_csv(table, index=False, lineterminator="\n")
        content = croissant(project.data, table, name=NAME, version=VERSION)
        description.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
