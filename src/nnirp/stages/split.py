"""split: index files of every protocol, audited before they are published."""

import logging

from nnirp.errors import NnirpError
from nnirp.layers.store import pack
from nnirp.project import Project, publishing
from nnirp.splits import PROTOCOLS, canonical_manifest, make_split, write_index
from nnirp.splits.audit import audit

log = logging.getLogger(__name__)


def run(project: Project) -> None:
    """Write `splits/<protocol>.json`, `splits/audit/<protocol>.json` and the card's `manifests/splits.json`."""
    store = pack(project.data)
    seed = project.parameters.split.seed
    targets = (project.data / "splits", project.manifests / "splits.json")
    with publishing(*targets, work=project.work) as (splits, canonical):
        (splits / "audit").mkdir(parents=True)
        for protocol in PROTOCOLS:
            index = make_split(protocol, store, seed=seed)
            found = audit(index, store)
            if found.leaks:
                raise NnirpError(
                    f"the {protocol} split leaks: {found.leaks[0]}; this is a fault of the protocol, run `nnirp split --explain`"
                )
            write_index(index, splits / f"{protocol}.json")
            found.write(splits / "audit" / f"{protocol}.json")
            if protocol == "cluster":
                canonical_manifest(index, store, canonical)
            log.info("%s", found.summary())
