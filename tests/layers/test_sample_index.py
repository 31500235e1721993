import json

import pandas as pd
import pytest

from nnirp.errors import NotPulledError
from nnirp.layers.archives import write_archive
from nnirp.layers.sample_index import COLUMNS, sample_index


def catalog_of(root):
    configurations = [
        {
            "id": i,
            "name": f"net{i}",
            "family": family,
            "sub_family": sub_family,
            "library": "timm",
            "parametric": False,
            "samples": [
                {"name": f"net{i}_im32_b{b}_fp32", "batch": b, "size": 32, "size_kind": "im", "precision": "fp32"}
                for b in (1, 4, 9)
            ],
        }
        for i, family, sub_family in ((7, "recurrent", "lstm"), (1, "convolutional", "resnet"))
    ]
    (root / "manifests" / "catalog.json").write_text(json.dumps({"configurations": configurations}))


def test_every_sample_of_the_catalog_is_a_row_with_what_is_known_of_it(root, make_record):
    catalog_of(root)
    failed = {"net1_im32_b9_fp32": {"status": "failed", "error": "no such operator"}}
    (root / "manifests" / "export.json").write_text(json.dumps({"samples": failed}))
    (root / "manifests" / "memory.json").write_text(json.dumps({"net1_im32_b1_fp32": [2**20, 2**21, 0, 0]}))
    records = [("net1_im32_b1_fp32.json", make_record()), ("net1_im32_b4_fp32.json", make_record("memory"))]
    write_archive(root / "profiling" / "1.tar.gz", records)
    table = sample_index(root)
    assert list(table.columns) == list(COLUMNS)
    assert list(table["sample"]) == [f"net{i}_im32_b{b}_fp32" for i in (1, 7) for b in (1, 4, 9)]
    first, second, third = (table.iloc[n] for n in range(3))
    assert (first["cluster"], first["status"], first["repeats"]) == ("resnet-1", "ok", 3)
    assert (first["runtime_min_ms"], first["runtime_median_ms"], first["peak_ram_mb"]) == (1.0, 2.0, 64.0)
    assert (first["weights_mb"], first["activations_mb"], first["operators"]) == (1.0, 2.0, 4)
    assert second["status"] == "memory" and pd.isna(second["runtime_min_ms"])
    assert (third["export"], third["status"], third["reason"]) == ("failed", "absent", "no such operator")


def test_the_same_root_gives_the_same_table(root):
    catalog_of(root)
    assert sample_index(root).equals(sample_index(root))


def test_without_a_catalog_there_is_no_table(root):
    with pytest.raises(NotPulledError, match=r"catalog\.json"):
        sample_index(root)
