"""Speech: recurrent layers over spectrograms, most of them behind convolutions."""

import torch
from torch import Tensor, nn

from nnirp.catalog.builders.recurrent.gated import CELLS
from nnirp.catalog.registry import Built, Request, builder


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


class Transducer(nn.Module):
    """RNN-T (Graves, 2012): audio encoder, prediction network over the known tokens, a joint of every pair.

    Two LSTM layers, frames stacked in pairs, three more, as in MLPerf Inference (Reddi et al., 2020): frames
    [batch, frames, features] and ids [batch, tokens] → scores [batch, frames / 2, tokens, classes].
    """

    def __init__(self, features: int, hidden_size: int, prediction_size: int, joint_size: int, classes: int):
        super().__init__()
        self.before = nn.LSTM(features, hidden_size, 2, batch_first=True)
        self.after = nn.LSTM(2 * hidden_size, hidden_size, 3, batch_first=True)
        self.embedding = nn.Embedding(classes, prediction_size)
        self.prediction = nn.LSTM(prediction_size, prediction_size, 2, batch_first=True)
        self.from_audio = nn.Linear(hidden_size, joint_size)
        self.from_text = nn.Linear(prediction_size, joint_size)
        self.joint = nn.Linear(joint_size, classes)

    def forward(self, frames: Tensor, input_ids: Tensor) -> Tensor:
        audio = self.before(frames)[0]
        batch, length, width = audio.shape
        audio = self.after(audio.reshape(batch, length // 2, 2 * width))[0]
        text = self.prediction(self.embedding(input_ids))[0]
        return self.joint(torch.relu(self.from_audio(audio)[:, :, None] + self.from_text(text)[:, None]))


class KeywordSpotter(nn.Module):
    """One large strided convolution over a mel spectrogram, bidirectional layers, two linear layers (Arık et al., 2017)."""

    def __init__(self, cell: str, filters: int, hidden_size: int, num_layers: int, classes: int):
        super().__init__()
        self.convolution = nn.Conv2d(1, filters, (20, 5), (8, 2))
        self.recurrent = CELLS[cell](filters * 18, hidden_size, num_layers, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(nn.Linear(2 * hidden_size, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, spectrogram: Tensor) -> Tensor:
        features = torch.relu(self.convolution(spectrogram.transpose(2, 3)))  # [batch, filters, frames, 18]
        frames = features.permute(0, 2, 1, 3).flatten(2)
        return self.head(self.recurrent(frames)[0][:, -1])


@builder("speech_recogniser")
def speech_recogniser(request: Request) -> Built:
    """A speech recogniser over a spectrogram of 160 bins and `size` frames."""
    return SpeechRecogniser(**request.arguments), {"spectrogram": torch.randn(request.batch, 1, 160, request.size)}


@builder("transducer")
def transducer(request: Request) -> Built:
    """A transducer over `size` frames of features and 16 known tokens."""
    frames = torch.randn(request.batch, request.size, request.arguments["features"])
    ids = torch.randint(0, request.arguments["classes"], (request.batch, 16))
    return Transducer(**request.arguments), {"frames": frames, "input_ids": ids}


@builder("keyword_spotter")
def keyword_spotter(request: Request) -> Built:
    """A keyword spotter over a mel spectrogram of 40 bins and `size` frames."""
    return KeywordSpotter(**request.arguments), {"spectrogram": torch.randn(request.batch, 1, 40, request.size)}
