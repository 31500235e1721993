"""Stacks of LSTM or GRU layers over feature frames, tokens or answers."""

import itertools

import torch
from torch import Tensor, nn

from nnirp.catalog.registry import Built, Request, builder

CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}


class SequenceClassifier(nn.Module):
    """A recurrent stack over feature frames [batch, frames, features] and a linear layer on its last output."""

    def __init__(self, cell: str, features: int, hidden_size: int, num_layers: int, bidirectional: bool, classes: int):
        super().__init__()
        self.recurrent = CELLS[cell](features, hidden_size, num_layers, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(hidden_size * (2 if bidirectional else 1), classes)

    def forward(self, frames: Tensor) -> Tensor:
        return self.head(self.recurrent(frames)[0][:, -1])


class RecurrentLanguageModel(nn.Module):
    """Embedding, recurrent stack and output layer: ids [batch, tokens] → logits [batch, tokens, vocabulary]."""

    def __init__(self, cell: str, vocabulary: int, hidden_size: int, num_layers: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden_size)
        self.recurrent = CELLS[cell](hidden_size, hidden_size, num_layers, batch_first=True)
        self.head = nn.Linear(hidden_size, vocabulary)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.head(self.recurrent(self.embedding(input_ids))[0])


class TiedLanguageModel(nn.Module):
    """AWD-LSTM (Merity et al., 2018): wide LSTM layers between a narrow embedding and the same matrix as output layer."""

    def __init__(self, vocabulary: int, embedding: int, hidden_size: int, num_layers: int):
        super().__init__()
        widths = [embedding] + [hidden_size] * (num_layers - 1) + [embedding]
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.recurrent = nn.ModuleList(
            nn.LSTM(inputs, outputs, batch_first=True) for inputs, outputs in itertools.pairwise(widths)
        )
        self.head = nn.Linear(embedding, vocabulary)
        self.head.weight = self.embedding.weight

    def forward(self, input_ids: Tensor) -> Tensor:
        states = self.embedding(input_ids)
        for layer in self.recurrent:
            states = layer(states)[0]
        return self.head(states)


class SequenceTagger(nn.Module):
    """Embedding, bidirectional stack and a label for each token (Huang et al., 2015): ids [batch, tokens] → scores."""

    def __init__(self, cell: str, vocabulary: int, embedding: int, hidden_size: int, num_layers: int, labels: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.recurrent = CELLS[cell](embedding, hidden_size, num_layers, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden_size, labels)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.head(self.recurrent(self.embedding(input_ids))[0])


class KnowledgeTracer(nn.Module):
    """Deep knowledge tracing (Piech et al., 2015): answers so far → chance of a right answer to each skill.

    An answer is a one-hot vector over skills times right or wrong: [batch, answers, 2 · skills] → [batch, answers, skills].
    """

    def __init__(self, skills: int, hidden_size: int):
        super().__init__()
        self.recurrent = nn.LSTM(2 * skills, hidden_size, batch_first=True)
        self.head = nn.Linear(hidden_size, skills)

    def forward(self, answers: Tensor) -> Tensor:
        return torch.sigmoid(self.head(self.recurrent(answers)[0]))


@builder("sequence_classifier")
def sequence_classifier(request: Request) -> Built:
    """An LSTM or GRU classifier of any width and depth over `size` frames."""
    model = SequenceClassifier(**request.arguments)
    return model, {"frames": torch.randn(request.batch, request.size, request.arguments["features"])}


@builder("recurrent_language_model")
def recurrent_language_model(request: Request) -> Built:
    """An LSTM or GRU language model over `size` tokens."""
    return RecurrentLanguageModel(**request.arguments), _ids(request)


@builder("tied_language_model")
def tied_language_model(request: Request) -> Built:
    """An AWD-LSTM over `size` tokens."""
    return TiedLanguageModel(**request.arguments), _ids(request)


@builder("sequence_tagger")
def sequence_tagger(request: Request) -> Built:
    """A bidirectional tagger over `size` tokens."""
    return SequenceTagger(**request.arguments), _ids(request)


@builder("knowledge_tracer")
def knowledge_tracer(request: Request) -> Built:
    """Deep knowledge tracing over `size` answers."""
    kinds = 2 * request.arguments["skills"]
    answers = torch.randint(0, kinds, (request.batch, request.size, 1)) == torch.arange(kinds)
    return KnowledgeTracer(**request.arguments), {"answers": answers.float()}


def _ids(request: Request) -> dict[str, Tensor]:
    return {"input_ids": torch.randint(0, request.arguments["vocabulary"], (request.batch, request.size))}
