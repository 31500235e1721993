import json
from dataclasses import replace
from importlib import metadata

import onnx

from nnirp.catalog import Catalog, load_catalog
from nnirp.graphs import layer
from nnirp.graphs.configuration import PROGRESS
from nnirp.graphs.layer import export_catalog, export_manifest, finished_rows, speed
from nnirp.layers.archives import iter_archive


def test_the_manifest_holds_no_times():
    rows = export_manifest([], 20)
    assert rows["samples"] == {} and "seconds" not in json.dumps(rows)


def test_a_catalog_is_exported_in_processes_and_a_second_call_only_copies(tmp_path):
    path = tmp_path / "catalog.json"
    path.write_text(load_catalog("starter").subset([601], samples=1).to_json())
    seen = []
    for attempt in ("first", "second"):
        seen.append([])
        rows = export_catalog(
            path, tmp_path / attempt, tmp_path / "work", opset=20, on_progress=lambda done, *_: seen[-1].append(done)
        )
    assert [row.status for row in rows] == ["ok"]
    assert (tmp_path / "first" / "601.tar.gz").read_bytes() == (tmp_path / "second" / "601.tar.gz").read_bytes()
    assert seen == [[0, 1], [1]]
    (content,) = [content for _, content in iter_archive(tmp_path / "first" / "601.tar.gz")]
    assert onnx.load_model_from_string(content).graph.node
    assert speed(finished_rows(tmp_path / "work"))["graphs"] == 1


def test_a_process_that_dies_costs_its_group_and_the_rest_goes_on(tmp_path):
    configuration = load_catalog("starter").by_id(601)
    names = [sample.name for sample in configuration.samples]
    lines = [
        {"rows": [{"sample": n, "configuration": 601, "status": "ok", "error": None, "nodes": 1} for n in names[2:]]}
    ]
    lines.append({"started": names[:2]})
    (tmp_path / PROGRESS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    layer._give_up_group(configuration, tmp_path, "killed by signal 11")
    last = json.loads((tmp_path / PROGRESS).read_text().splitlines()[-1])
    assert [(row["sample"], row["status"], row["error"]) for row in last["rows"]] == [
        (name, "failed", "killed by signal 11") for name in names[:2]
    ]


def test_a_builder_that_a_library_broke_is_a_row_that_names_its_version(tmp_path):
    catalog = load_catalog("starter").subset([401, 601], samples=1)
    broken = replace(catalog.by_id(401), arguments={"architecture": "gone_from_this_version"})
    path = tmp_path / "catalog.json"
    path.write_text(Catalog((broken, catalog.by_id(601))).to_json())
    rows = export_catalog(path, tmp_path / "graphs", tmp_path / "work", opset=20)
    assert [row.status for row in rows] == ["failed", "ok"]
    assert f"timm {metadata.version('timm')}" in rows[0].error and "timm_classifier" in rows[0].error
    assert [file.name for file in (tmp_path / "graphs").iterdir()] == ["601.tar.gz"]
