import hashlib
import json
import logging
import shutil

import pytest

from nnirp.layers.croissant import TABLE, croissant
from nnirp.layers.sample_index import COLUMNS

mlcroissant = pytest.importorskip("mlcroissant")


@pytest.fixture
def described(root):
    """A root with a table of two rows and its description."""
    row = {
        name: {"text": "a", "integer": "3", "number": "0.5", "boolean": "True"}[k] for name, (k, _) in COLUMNS.items()
    }
    lines = [",".join(COLUMNS), *[",".join(row.values())] * 2]
    (root / TABLE).write_text("\n".join(lines) + "\n")
    content = croissant(root, root / TABLE, name="some-data", version="1.2.3")
    path = root / "croissant.json"
    path.write_text(json.dumps(content))
    return path


def test_the_library_finds_no_error_in_it_and_reads_the_rows(described, caplog):
    with caplog.at_level(logging.WARNING):
        dataset = mlcroissant.Dataset(jsonld=str(described))
    assert not dataset.metadata.issues.errors
    rows = list(dataset.records("samples"))
    assert len(rows) == 2 and rows[0]["samples/batch"] == 3 and rows[0]["samples/gflops"] == 0.5


def test_every_archive_is_listed_with_its_hash(described):
    files = {entry["@id"]: entry for entry in json.loads(described.read_text())["distribution"]}
    archives = {f"{p.parent.name}/{p.name}": p for p in described.parent.glob("*/*.tar.gz")}
    assert archives.keys() | {TABLE} == files.keys()
    assert all(files[i]["sha256"] == hashlib.sha256(p.read_bytes()).hexdigest() for i, p in archives.items())


def test_the_description_repeats_and_names_no_folder_of_the_machine(described):
    first = described.read_text()
    again = croissant(described.parent, described.parent / TABLE, name="some-data", version="1.2.3")
    assert json.dumps(again) == first and str(described.parent) not in first


def test_a_changed_file_is_noticed_by_the_reader(described, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(described.parent / "manifests", copy / "manifests")
    shutil.copy(described, copy)
    (copy / TABLE).write_text((copy / TABLE).read_text().replace("0.5", "0.6"))
    with pytest.raises(Exception, match=r"Download\(manifests/samples\.csv\)"):
        list(mlcroissant.Dataset(jsonld=str(copy / described.name)).records("samples"))
