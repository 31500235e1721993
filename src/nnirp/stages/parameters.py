"""parameters: the whole of `params.yaml` is checked before any other stage clears what it made."""

import json

from nnirp.project import Project, publishing


def run(project: Project) -> None:
    """Write `manifests/parameters.json`, which names the sections and never their values: it changes with neither."""
    sections = sorted(type(project.parameters).model_fields)
    with publishing(project.manifests / "parameters.json", work=project.work) as (draft,):
        draft.write_text(json.dumps({"schema": 1, "valid": sections}, indent=1) + "\n", encoding="utf-8")
