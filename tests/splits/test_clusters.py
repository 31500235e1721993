import pytest

from nnirp.catalog import load_catalog
from nnirp.errors import InputError
from nnirp.splits.clusters import cluster_of, compute_clusters, model_type_case_ids, onnx_bigrams

BLOCK = {("Conv", "Relu"): 2, ("Relu", "Add"): 1}
OTHER = {("MatMul", "Softmax"): 2, ("Softmax", "MatMul"): 1}
SUB = {1: "resnet", 2: "resnet", 3: "resnet", 4: "vgg"}
FAMILY = {"resnet": "convolutional", "vgg": "convolutional"}


def scaled(counter, times):
    return {k: v * times for k, v in counter.items()}


def test_a_renamed_copy_lands_in_the_cluster_of_its_original():
    content = compute_clusters({1: [BLOCK], 2: [OTHER], 3: [BLOCK], 4: [OTHER]}, SUB, FAMILY, threshold=1.0)
    assert cluster_of(content) == {1: "resnet-1", 3: "resnet-1", 2: "resnet-2", 4: "vgg-4"}


def test_deeper_variants_of_one_block_share_a_cluster():
    content = compute_clusters({1: [BLOCK], 2: [scaled(BLOCK, 5)]}, SUB, FAMILY)
    assert content["clusters"] == {"resnet-1": {"sub_family": "resnet", "cases": [1, 2]}}


def test_clusters_stay_inside_their_sub_family():
    content = compute_clusters({1: [BLOCK], 4: [BLOCK]}, SUB, FAMILY)
    assert set(content["clusters"]) == {"resnet-1", "vgg-4"}
    assert content["subfamily_to_family"] == FAMILY


def test_clusters_do_not_depend_on_order():
    graphs = {1: [BLOCK], 2: [OTHER], 3: [scaled(OTHER, 2), BLOCK]}
    assert compute_clusters(graphs, SUB, FAMILY) == compute_clusters(dict(reversed(graphs.items())), SUB, FAMILY)


def test_a_store_brings_its_own_taxonomy(store):
    content = compute_clusters(store, threshold=1.0)
    assert set(cluster_of(content)) == set(store.samples["configuration"])
    assert content["subfamily_to_family"]["conv-0"] == "conv"


def test_a_configuration_without_sub_family_is_refused():
    with pytest.raises(InputError, match="configuration 9"):
        compute_clusters({9: [BLOCK]}, SUB, FAMILY)


def test_bigrams_of_an_onnx_file_follow_its_tensors():
    onnx = pytest.importorskip("onnx")
    nodes = [onnx.helper.make_node("Relu", ["x"], ["a"]), onnx.helper.make_node("Add", ["a", "a"], ["y"])]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "g", [value("x", 1, [2])], [value("y", 1, [2])])
    assert onnx_bigrams(onnx.helper.make_model(graph).SerializeToString()) == {("Relu", "Add"): 2}


def test_model_types_list_their_configurations():
    from types import SimpleNamespace as Row

    catalog = Row(
        configurations=[Row(id=7, model_type="bert"), Row(id=3, model_type="bert"), Row(id=1, model_type=None)]
    )
    assert model_type_case_ids(catalog) == {"bert": [3, 7]}


def test_every_transformers_configuration_is_listed_once_under_a_type_that_the_library_has():
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    catalog = load_catalog("full")
    content = model_type_case_ids(catalog)
    assert content.keys() <= CONFIG_MAPPING_NAMES.keys()
    listed = sorted(identifier for ids in content.values() for identifier in ids)
    assert listed == [c.id for c in catalog.configurations if c.library == "transformers"]
