"""Ids are pinned in configuration_ids.json. `python tests/catalog/test_ids.py` appends new ones and refuses to change others."""

import json
from pathlib import Path

from nnirp.catalog import load_catalog

PINNED = Path(__file__).with_name("configuration_ids.json")


def pinned() -> dict[int, str]:
    return {int(key): name for key, name in json.loads(PINNED.read_text(encoding="utf-8")).items()}


def declared() -> dict[int, str]:
    return {c.id: c.name for c in load_catalog("full").configurations}


def changed() -> dict[int, tuple[str, str | None]]:
    now = declared()
    return {key: (name, now.get(key)) for key, name in pinned().items() if now.get(key) != name}


def test_no_id_is_renamed_dropped_or_used_again():
    assert not changed(), "published data name these ids: give the old name back, and a new configuration a new id"


def test_every_id_is_pinned():
    new = sorted(declared().keys() - pinned().keys())
    assert not new, f"ids {new} are new: `python tests/catalog/test_ids.py` pins them"


def append() -> None:
    if changed():
        raise SystemExit(f"refused, these ids have another name or none now: {changed()}")
    content = json.dumps({str(key): name for key, name in sorted(declared().items())}, indent=0)
    PINNED.write_text(content + "\n", encoding="utf-8")


if __name__ == "__main__":
    append()
