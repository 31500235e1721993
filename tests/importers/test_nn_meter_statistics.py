from pathlib import Path

import numpy as np
import pytest
from nn_meter_tables import image, plain, residual, write_tables

from nnirp.features import encode
from nnirp.importers.nn_meter_graph import to_onnx
from nnirp.importers.nn_meter_source import read_tables
from nnirp.importers.nn_meter_statistics import family_coverage, product_flops

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "nn-meter"
measured = pytest.mark.skipif(not DATA.is_dir(), reason="nn-Meter's tables are not beside this clone")
# Distinct and weighted, as published beside the measurements; every other family is fully covered.
COVERAGE = {
    "densenets": (0.438, 0.624),
    "shufflenetv2s": (0.462, 0.270),
    "nasbench201s": (0.667, 0.944),
    "googlenets": (0.846, 0.982),
    "resnets": (0.846, 0.929),
    "mobilenetv3s": (0.857, 0.926),
    "mobilenetv2s": (0.933, 1.000),
}


@pytest.fixture(scope="module")
def published():
    return read_tables(DATA)


def read(tmp_path, *networks):
    return read_tables(write_tables(tmp_path, list(networks), phone_ms=[1.0] * len(networks)))


def test_coverage_counts_distinct_bigrams_and_edges(tmp_path):
    found = family_coverage(read(tmp_path, ("a", plain(depth=2)), ("b", residual())))
    # both have Placeholder→Conv2D, Relu→Conv2D, Mean→Reshape, Reshape→MatMul
    assert found["b"] == pytest.approx((4 / 8, 4 / 9))  # Conv2D→Add is twice among 9 edges
    assert found["a"] == pytest.approx((4 / 7, 4 / 9))  # so are Conv2D→FusedBatchNorm and FusedBatchNorm→Relu


def test_product_flops_are_those_of_the_formulas(tmp_path):
    network = image(size=8)
    network.conv(4, stride=2)
    network.add("DepthwiseConv2dNative", kernel=5, stride=1, weight=(4, 1))
    network.add("Relu")
    network.classifier(classes=10)
    expected = 2 * (4 * 4 * 4) * 9 * 3 + 2 * (4 * 4 * 4) * 25 + 2 * 4 * 10
    assert product_flops(read(tmp_path, ("a", network))).tolist() == [expected]


@measured
def test_published_coverage_to_three_digits(published):
    found = {name: tuple(round(v, 3) for v in value) for name, value in family_coverage(published).items()}
    assert found == {name: COVERAGE.get(name, (1.0, 1.0)) for name in np.unique(published.family)}


@measured
def test_features_have_the_products_of_the_tables_in_every_family(published):
    graphs = [np.flatnonzero(published.family == family)[17] for family in np.unique(published.family)]
    for graph, expected in zip(graphs, product_flops(published)[graphs], strict=True):
        encoded = encode(to_onnx(published.graph(graph)).model)
        names = np.array(encoded.op_names)
        assert encoded.flops[(names == "Conv") | (names == "Gemm")].sum() == expected
        assert not encoded.unknown and not encoded.warnings
