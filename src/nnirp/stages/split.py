"""split: index files of every protocol, audited before they are published."""

import json
import logging

from nnirp.errors import InputError, NnirpError
from nnirp.layers.store import pack
from nnirp.project import Project, publishing
from nnirp.splits import PROTOCOLS, canonical_manifest, describe, make_split, write_index
from nnirp.splits.audit import audit

log = logging.getLogger(__name__)


def run(project: Project) -> None:
    """Write `splits/<protocol>.json`, `splits/audit/<protocol>.json` and the card's `manifests/splits.json`."""
    store = pack(project.data)
    described = describe(store)
    seed = project.parameters.split.seed
    targets = (project.data / "splits", project.manifests / "splits.json")
    with publishing(*targets, work=project.work) as (splits, canonical):
        (splits / "audit").mkdir(parents=True)
        for protocol in PROTOCOLS:
            try:
                index = make_split(protocol, described, seed=seed)
            except InputError as error:
                if project.dataset is None or protocol == "cluster":
                    raise
                log.warning("no %s split: %s", protocol, error)  # somebody's own root may be too small for some
                continue
            found = audit(index, store)
            if not found.ok:
                raise NnirpError(f"the {protocol} split leaks, {found.leaks[0]}; nothing was published")
            write_index(index, splits / f"{protocol}.json")
            _write_json(splits / "audit" / f"{protocol}.json", found.to_dict())
            if protocol == "cluster":
                _write_json(canonical, canonical_manifest(index, described))
            for line in found.lines():
                log.debug("%s", line)
        log.info("%d protocols, no leak", len(list(splits.glob("*.json"))))


def _write_json(path, content) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
