import re

import pytest

from nnirp.catalog import FAMILIES, load_catalog
from nnirp.errors import InputError

PINNED = {
    101: "openai-community/gpt2",
    102: "facebook/opt-125m",
    103: "HuggingFaceTB/SmolLM-135M",
    104: "llama-parametric",
    105: "bloom-parametric",
    201: "google-bert/bert-base-uncased",
    202: "distilbert/distilbert-base-uncased",
    203: "albert/albert-base-v2",
    204: "bert-parametric",
    205: "vit_tiny_patch16_224",
    206: "deit_small_patch16_224",
    207: "vit-parametric",
    208: "swin_tiny_patch4_window7_224",
    209: "mobilevit_xs",
    210: "facebook/wav2vec2-base",
    211: "openai/clip-vit-base-patch32",
    212: "patchtst",
    301: "google-t5/t5-small",
    302: "facebook/bart-base",
    303: "openai/whisper-tiny",
    304: "t5-parametric",
    401: "resnet18",
    402: "resnet50",
    403: "mobilenetv3_large_100",
    404: "efficientnet_b0",
    405: "convnext_atto",
    406: "regnety_004",
    407: "densenet121",
    408: "residual-parametric",
    409: "inverted-residual-parametric",
    501: "ssdlite320_mobilenet_v3_large",
    502: "hustvl/yolos-tiny",
    503: "facebook/detr-resnet-50",
    504: "PekingU/rtdetr_r18vd",
    505: "yolos-parametric",
    601: "lstm-parametric",
    602: "gru-parametric",
    603: "lstm-language-model",
    604: "crnn",
    605: "deep-speech-parametric",
}


def test_published_ids_never_change():
    assert {c.id: c.name for c in load_catalog("starter").configurations} == PINNED


def test_starter_is_a_part_of_full():
    starter, full = load_catalog("starter"), load_catalog("full")
    names = {s.name for c in full.configurations for s in c.samples}
    assert {s.name for c in starter.configurations for s in c.samples} <= names


def test_sample_names_are_well_formed():
    pattern = re.compile(r"[A-Za-z0-9.\-]+(_[A-Za-z0-9.\-]+)*_(im|seq|frames|steps)\d+_b\d+(_decode)?_(fp32|bf16)")
    for configuration in load_catalog("full").configurations:
        for sample in configuration.samples:
            assert pattern.fullmatch(sample.name), sample.name


def test_names_are_unique():
    names = [s.name for c in load_catalog("full").configurations for s in c.samples]
    assert len(names) == len(set(names))


def test_no_family_is_below_eight_percent_and_bf16_is_a_small_part():
    summary = load_catalog("starter").summary()
    assert set(summary["families"]) == set(FAMILIES)
    assert all(counts["samples"] >= 0.08 * summary["samples"] for counts in summary["families"].values())
    assert summary["precisions"]["bf16"] <= 0.15 * summary["samples"]
    assert summary["precisions"]["fp32"] >= 200


def test_only_parametric_configurations_sweep_arguments():
    for configuration in load_catalog("full").configurations:
        assert configuration.parametric == any(s.arguments for s in configuration.samples), configuration.name


def test_unknown_selection_is_refused():
    with pytest.raises(InputError, match="starter, full"):
        load_catalog("all")
