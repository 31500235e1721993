import numpy as np
import torch
from synthetic import make_store

from nnirp.predictors import create
from nnirp.predictors.dippm import DippmNetwork, DippmSettings, weighted_chain


def test_network_has_the_published_sizes():
    network = DippmNetwork(3, DippmSettings())
    assert [layer.out_channels for block in network.blocks for layer in block] == [512] * 6
    assert [(d.in_features, d.out_features) for d in network.dense] == [(517, 512), (512, 512), (512, 512)]


def test_edges_chain_the_nodes_with_weights(store):
    chain = weighted_chain(store.batch([0, 1]))
    assert (chain.op == 1).all()
    assert (chain.graph[chain.edge_index[0]] == chain.graph[chain.edge_index[1]]).all()
    assert chain.edge_index.shape[1] == len(chain.x) - len(torch.unique(chain.graph))


def test_graphs_without_any_weight_are_predicted(parts):
    predictor = create("dippm", width=16, max_epochs=2)
    predictor.fit(*parts[:2])
    assert np.isfinite(predictor.predict(make_store(3, operators=(15,)).all()).mean).all()
