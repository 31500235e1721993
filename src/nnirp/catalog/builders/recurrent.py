"""Recurrent networks: stacks of gated layers over features, token ids or convolutional features."""

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


class ConvolutionalRecurrentRecogniser(nn.Module):
    """Convolutions over a text line [batch, 1, 32, width], then bidirectional LSTMs over its columns (Shi et al., 2017)."""

    def __init__(self, hidden_size: int, num_layers: int, classes: int):
        super().__init__()
        plan = ((1, 64, (2, 2)), (64, 128, (2, 2)), (128, 256, (2, 1)), (256, 512, (2, 1)), (512, 512, (2, 1)))
        layers: list[nn.Module] = []
        for inputs, outputs, pool in plan:
            layers += [nn.Conv2d(inputs, outputs, 3, 1, 1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
            layers.append(nn.MaxPool2d(pool))
        self.features = nn.Sequential(*layers)
        self.recurrent = nn.LSTM(512, hidden_size, num_layers, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden_size, classes)

    def forward(self, image: Tensor) -> Tensor:
        columns = self.features(image).squeeze(2).transpose(1, 2)
        return self.head(self.recurrent(columns)[0])


class SpeechRecogniser(nn.Module):
    """Two strided convolutions over a spectrogram [batch, 1, 160, frames], then bidirectional GRUs (Amodei et al., 2016)."""

    def __init__(self, hidden_size: int, num_layers: int, classes: int):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5)),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20),
            nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5)),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20),
        )
        self.recurrent = nn.GRU(32 * 40, hidden_size, num_layers, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden_size, classes)

    def forward(self, spectrogram: Tensor) -> Tensor:
        frames = self.features(spectrogram).flatten(1, 2).transpose(1, 2)
        return self.head(self.recurrent(frames)[0])


@builder("sequence_classifier")
def sequence_classifier(request: Request) -> Built:
    """An LSTM or GRU classifier of any width and depth over `size` frames."""
    model = SequenceClassifier(**request.arguments)
    return model, {"frames": torch.randn(request.batch, request.size, request.arguments["features"])}


@builder("recurrent_language_model")
def recurrent_language_model(request: Request) -> Built:
    """An LSTM or GRU language model over `size` tokens."""
    model = RecurrentLanguageModel(**request.arguments)
    ids = torch.randint(0, request.arguments["vocabulary"], (request.batch, request.size))
    return model, {"input_ids": ids}


@builder("convolutional_recurrent_recogniser")
def convolutional_recurrent_recogniser(request: Request) -> Built:
    """A text-line recogniser over an image 32 pixels high and `size` wide."""
    return ConvolutionalRecurrentRecogniser(**request.arguments), {
        "image": torch.randn(request.batch, 1, 32, request.size)
    }


@builder("speech_recogniser")
def speech_recogniser(request: Request) -> Built:
    """A speech recogniser over a spectrogram of 160 bins and `size` frames."""
    return SpeechRecogniser(**request.arguments), {"spectrogram": torch.randn(request.batch, 1, 160, request.size)}
