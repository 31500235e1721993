import pytest
import torch

from nnirp.catalog.builders.recurrent.forecasting import ProbabilisticForecaster, SkipForecaster
from nnirp.catalog.builders.recurrent.gated import TiedLanguageModel
from nnirp.catalog.builders.recurrent.synthesis import BankEncoder
from nnirp.catalog.registry import Request, find_builder


@pytest.mark.parametrize("bank", [1, 4, 7])
def test_a_bank_of_any_kernels_keeps_every_character(bank):
    encoder = BankEncoder(symbols=20, embedding=12, width=8, bank=bank, highways=2).eval()
    assert encoder(torch.randint(0, 20, (3, 11))).shape == (3, 11, 16)


def test_awd_lstm_has_one_matrix_for_words_in_and_out():
    model = TiedLanguageModel(vocabulary=50, embedding=6, hidden_size=10, num_layers=3)
    assert model.head.weight is model.embedding.weight
    assert [(layer.input_size, layer.hidden_size) for layer in model.recurrent] == [(6, 10), (10, 10), (10, 6)]
    assert model(torch.randint(0, 50, (2, 4))).shape == (2, 4, 50)


def test_lstnet_adds_a_linear_part_over_its_window():
    model = SkipForecaster(channels=3, filters=4, hidden_size=5, skip=4, skip_size=2, window=6).eval()
    for name, parameter in model.named_parameters():
        parameter.detach().fill_(1.0 if name == "linear.weight" else 0.0)
    values = torch.randn(2, 21, 3)
    assert torch.allclose(model(values), values[:, -6:].sum(1), atol=1e-5)


def test_deepar_follows_the_magnitude_of_a_series():
    model = ProbabilisticForecaster("gru", covariates=2, hidden_size=8, num_layers=1).eval()
    values, covariates = torch.rand(1, 10) + 100.0, torch.randn(1, 10, 2)
    mean, scale = model(values, covariates)
    assert mean.shape == scale.shape == (1, 10) and (scale > 0).all()
    assert model(10 * values, covariates)[1].mean() > 5 * scale.mean()


def test_knowledge_tracing_takes_one_answer_a_step():
    build = find_builder("knowledge_tracer", "recurrent")
    module, inputs = build(Request({"skills": 7, "hidden_size": 5}, batch=2, size=9, mode="forward"))
    assert inputs["answers"].shape == (2, 9, 14) and (inputs["answers"].sum(-1) == 1).all()
    assert module(**inputs).shape == (2, 9, 7)
