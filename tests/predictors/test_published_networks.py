"""The sizes, losses and features that papers and public code state; departures are in the docstrings."""

import torch
from torch import nn

from nnirp.predictors.brp_nas import BrpNasNetwork, BrpNasSettings
from nnirp.predictors.nnlp import NnlpNetwork, NnlpSettings
from nnirp.training.compression import compress


def test_nnlp_has_two_layers_of_512_a_head_a_target_and_a_relative_loss(store):
    network = NnlpNetwork(2, NnlpSettings()).eval()
    assert [(layer.out_channels, layer.normalize, layer.aggr) for layer in network.layers] == [(512, True, "mean")] * 2
    assert network.producers and network.consumers and network.static_enter[0].in_features == 4
    linear = [[m.out_features for m in head if isinstance(m, nn.Linear)] for head in network.heads]
    assert linear == [[512, 512, 1]] * 2
    graphs = store.subset(range(6))
    network.measure(graphs, compress(graphs, network))
    batch = compress(graphs, network).batch(range(6))
    expected = ((torch.exp2(network.predict(batch)[0] - batch.y) - 1) ** 2).mean()
    torch.testing.assert_close(network.loss(batch), expected, rtol=1e-3, atol=1e-5)


def test_brp_nas_has_four_layers_of_600_that_hear_consumers_and_a_global_node(store):
    settings = BrpNasSettings()
    network = BrpNasNetwork(1, settings)
    assert [layer.out_features for layer in network.layers] == [600] * 4 and network.leave.in_features == 600
    assert network.consumers and not network.producers and network.depth == 3
    assert (settings.dropout, settings.learning_rate, settings.weight_decay) == (0.002, 4e-4, 5e-4)
