"""catalog: the source configurations and their sample grids, as one manifest."""

from nnirp.catalog import load_catalog
from nnirp.project import Project, publishing


def run(project: Project) -> None:
    """Write `manifests/catalog.json`."""
    parameters = project.parameters.catalog
    catalog = load_catalog(parameters.selection).subset(parameters.configurations, parameters.samples_per_configuration)
    with publishing(project.manifests / "catalog.json", work=project.work) as (draft,):
        draft.write_text(catalog.to_json(), encoding="utf-8")
