"""timm's result tables: which models are chosen, what they become, and what is left out."""

from pathlib import Path

import pytest
import torch

from nnirp import load_dataset
from nnirp.errors import InputError
from nnirp.importers.timm_csv import Row, choose, import_timm_csv, provenance, read_table
from nnirp.importers.timm_models import MODULES, arguments, family_of, find, spelled_out_attention
from nnirp.layers.verify import verify

HEADER = (
    "model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts"
)
MEASURED = Path(__file__).parents[3] / "shared" / "data" / "timm"
FILE = "benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv"


def table(folder, *lines, name=FILE):
    path = folder / name
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def test_a_table_becomes_a_dataset_root_and_what_cannot_be_mapped_has_a_reason(tmp_path):
    path = table(
        tmp_path,
        "test_vit,160,109337.21,9.356,1024,0.37,0.04,0.48",
        "test_byobnet,160,82185.02,12.45,1024,0.46,0.03,0.43",
        "resnet10t,176,19017.0,53.837,1024,5.44,0.7,1.51",
        "resnet10t,224,12120.7,84.474,1024,9.99,1.1,2.43",
        "no_such_net,224,1,1,1,1,1,1",
        "resnet18,224,1,,64,11.69,1.82,2.48",
    )
    report = import_timm_csv(path, tmp_path / "root", min_families=3)
    assert (report["rows"], report["chosen"], report["imported"]) == (5, 4, 3)
    assert report["modules"] == {"byobnet": 1, "resnet": 1, "vision_transformer": 1}
    reasons = report["left_out"]
    assert "5.44 M parameters in the installed timm, 9.99 M in the table" in reasons["resnet10t_im224_b1024"]
    assert "no model 'no_such_net'" in reasons["no_such_net_im224_b1"]
    assert reasons["line 7: resnet18"] == "no image size, batch or step time"
    assert 0.9 < report["arithmetic"]["median_ratio"] < 1.1
    assert verify(tmp_path / "root") == []
    data = load_dataset(tmp_path / "root", protocol="config")
    graphs = {g.sample: g for part in (data.train, data.val, data.test) for g in part}
    found = graphs["test_vit_im160_b1024_amp"]
    assert found.y.exp2().item() == pytest.approx(9.356) and found.u[0, 4] == 10.0
    assert (found.family, found.sub_family, found.precision) == ("attention_encoder", "vision_transformer", "amp")
    made = {p: p.stat().st_mtime_ns for p in (tmp_path / "root" / ".work" / "graphs").iterdir()}
    manifest = (tmp_path / "root" / "manifests" / "import.json").read_bytes()
    import_timm_csv(path, tmp_path / "root")
    assert {p: p.stat().st_mtime_ns for p in made} == made  # the second time makes no graph again
    assert (tmp_path / "root" / "manifests" / "import.json").read_bytes() == manifest


def test_every_module_of_timm_has_a_family():
    import timm.models._registry as registry

    modules = set(registry._model_to_module.values())
    assert modules - set(family_of()) == set() and find("resnet50.a1_in1k").family == "convolutional"
    assert sum(len(names.split()) for names in MODULES.values()) == len(family_of())


def test_a_network_of_fixed_size_is_built_for_the_size_that_was_measured():
    assert arguments("vit_tiny_patch16_224", 384) == {"architecture": "vit_tiny_patch16_224", "img_size": 384}
    assert arguments("resnet18", 384) == {"architecture": "resnet18"}


def test_attention_can_be_spelled_out_for_models_that_the_exporter_fails_on():
    import timm

    with torch.device("meta"):
        with spelled_out_attention():
            assert not timm.create_model("test_vit").blocks[0].attn.fused_attn
        assert timm.create_model("test_vit").blocks[0].attn.fused_attn


def test_a_choice_spreads_over_modules_and_a_larger_one_holds_it():
    rows = [Row(f"net{i}", 224, 8, 1.0, 1.0, 1.0) for i in range(60)]
    modules = {row.model: f"module{min(i, 5)}" for i, row in enumerate(rows)}
    few, more = choose(rows, modules, 8), choose(list(reversed(rows)), modules, 20)
    assert {modules[row.model] for row in few} == set(modules.values()) and set(few) <= set(more)
    assert choose(rows, modules, None, ["net3"]) == [rows[3]]
    with pytest.raises(InputError, match="not usable rows of the table, such as 'net99'"):
        choose(rows, modules, None, ["net99"])


def test_the_name_of_the_file_says_the_device_and_how_it_was_measured():
    found = provenance(FILE)
    assert found["fingerprint"]["gpu"] == {"name": "rtx3090"} and found["precision"] == "amp"
    assert found["fingerprint"]["libraries"] == {"torch": "2.4.0", "cuda": "12.4"}
    compiled = provenance("benchmark-infer-fp32-nchw-pt240-cpu-i9_10940x-dynamo.csv")
    assert compiled["runtime"] == {"name": "inductor"} and compiled["fingerprint"]["processor"]["name"] == "i9_10940x"
    assert provenance("mine.csv", "orin", "fp16")["precision"] == "fp16"
    with pytest.raises(InputError, match="does not say the device"):
        provenance("mine.csv")


def test_a_choice_of_too_few_modules_and_a_table_of_something_else_are_refused(tmp_path):
    path = table(tmp_path, "resnet18,224,1,1,64,11.69,1.82,2.48")
    with pytest.raises(InputError, match="spans 1 of timm's modules, --min-families asks for 12"):
        import_timm_csv(path, tmp_path / "root", min_families=12)
    (tmp_path / "other.csv").write_text("model,top1\nresnet18,70\n")
    with pytest.raises(InputError, match="no column infer_img_size, infer_batch_size, infer_step_time"):
        read_table(tmp_path / "other.csv")
    twice = table(tmp_path, *["resnet18,224,1,1,64,11.69,1.82,2.48"] * 2, name="twice.csv")
    with pytest.raises(InputError, match="line 3: resnet18_im224_b64 has two rows"):
        read_table(twice)
    assert not (tmp_path / "root").exists()


@pytest.mark.skipif(not MEASURED.is_dir(), reason="timm's tables are not here")
def test_every_row_of_the_published_tables_names_a_model_of_a_family():
    for path in MEASURED.glob("*.csv"):
        rows, refused = read_table(path)
        assert len(rows) > 1400 and not refused and provenance(path.name)["fingerprint"]
        assert len({find(row.model).module for row in rows}) >= 80
