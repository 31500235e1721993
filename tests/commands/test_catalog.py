import json


def test_a_row_a_configuration_with_its_place_in_the_taxonomy(nnirp, project):
    manifests = project / "data" / "manifests"
    manifests.mkdir(parents=True)
    clusters = {"lstm-1": {"sub_family": "gated_recurrent_network", "cases": [601, 602]}}
    (manifests / "clusters.json").write_text(json.dumps({"clusters": clusters, "subfamily_to_family": {}}))
    code, answer, _ = nnirp("catalog", "--json", "--selection", "full")
    rows = {row["id"]: row for row in json.loads(answer)}
    assert code == 0 and rows[601]["cluster"] == rows[602]["cluster"] == "lstm-1" and rows[603]["cluster"] is None
    assert (rows[601]["family"], rows[601]["sub-family"]) == ("recurrent", "gated_recurrent_network")
    summary = json.loads(nnirp("catalog", "--summary", "--json")[1])
    assert summary["families"]["recurrent"]["sub_families"]["gated_recurrent_network"]["clusters"] == 1
    assert summary["families"]["detection"]["clusters"] is None


def test_the_catalog_is_shown_before_there_are_clusters(nnirp, project):
    code, answer, _ = nnirp("catalog", "--summary")
    assert code == 0 and "gated_recurrent_network" in answer


def test_the_page_is_written_where_it_is_asked_for(nnirp, project):
    assert nnirp("catalog", "--taxonomy", project / "page.md")[0] == 0
    assert (project / "page.md").read_text(encoding="utf-8").startswith("# Taxonomy")


def test_a_root_is_described_before_anything_is_measured(nnirp, project):
    root = project / "root"
    assert nnirp("catalog", "--write", "--root", root)[0] == 0
    code, answer, _ = nnirp("describe", "--root", root, "--json")
    counts = json.loads(answer)
    assert code == 0 and counts["families"]["detection"]["absent"] > 0
    assert (root / "manifests" / "croissant.json").is_file()
    assert len((root / "manifests" / "samples.csv").read_text().splitlines()) == counts["samples"] + 1
