import numpy as np
import torch
from synthetic import make_store

from nnirp.predictors import create
from nnirp.predictors.dippm import DippmNetwork, DippmSettings


def test_network_has_the_published_sizes():
    network = DippmNetwork(3, DippmSettings())
    assert [layer.out_channels for layer in network.layers] == [512] * 6
    assert [(d.in_features, d.out_features) for d in network.dense] == [(517, 512), (512, 512), (512, 512)]
    assert network.depth == 6 and network.producers and not network.consumers


def test_edges_chain_the_nodes_with_weights(store):
    reading = DippmNetwork(1, DippmSettings(width=4)).read(store.batch([0, 1]))
    assert (reading.op == 1).all()
    assert (reading.graph[reading.source] == reading.graph[reading.target]).all()
    assert len(reading.source) == len(reading.op) - len(torch.unique(reading.graph))


def test_graphs_without_any_weight_are_predicted(parts):
    predictor = create("dippm", width=16, max_epochs=2)
    predictor.fit(*parts[:2])
    assert np.isfinite(predictor.predict(make_store(3, operators=(15,)).all()).mean).all()
