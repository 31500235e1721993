"""Speech synthesis: characters through convolutions and a bidirectional layer, the encoders of Tacotron and Tacotron 2."""

import torch
from torch import Tensor, nn

from nnirp.catalog.registry import Built, Request, builder


class PhonemeEncoder(nn.Module):
    """Encoder of Tacotron 2 (Shen et al., 2018): ids [batch, characters] → states [batch, characters, hidden_size]."""

    def __init__(self, symbols: int, hidden_size: int, kernel: int = 5, depth: int = 3):
        super().__init__()
        self.embedding = nn.Embedding(symbols, hidden_size)
        blocks: list[nn.Module] = []
        for _ in range(depth):
            convolution = nn.Conv1d(hidden_size, hidden_size, kernel, padding=kernel // 2)
            blocks += [convolution, nn.BatchNorm1d(hidden_size), nn.ReLU()]
        self.convolutions = nn.Sequential(*blocks)
        self.recurrent = nn.LSTM(hidden_size, hidden_size // 2, batch_first=True, bidirectional=True)

    def forward(self, input_ids: Tensor) -> Tensor:
        characters = self.convolutions(self.embedding(input_ids).transpose(1, 2)).transpose(1, 2)
        return self.recurrent(characters)[0]


class Highway(nn.Module):
    """A layer that mixes its input with its output by a learned gate (Srivastava et al., 2015)."""

    def __init__(self, width: int):
        super().__init__()
        self.change, self.gate = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(x))
        return gate * torch.relu(self.change(x)) + (1.0 - gate) * x


class BankEncoder(nn.Module):
    """Encoder of Tacotron (Wang et al., 2017): pre-net, then a bank of convolutions, highway layers and a GRU (CBHG).

    ids [batch, characters] → states [batch, characters, 2 · width].
    """

    def __init__(self, symbols: int, embedding: int, width: int, bank: int, highways: int):
        super().__init__()
        self.embedding = nn.Embedding(symbols, embedding)
        self.before = nn.Sequential(nn.Linear(embedding, embedding), nn.ReLU(), nn.Linear(embedding, width), nn.ReLU())
        self.bank = nn.ModuleList(
            nn.Sequential(nn.Conv1d(width, width, kernel, padding=kernel // 2), nn.ReLU(), nn.BatchNorm1d(width))
            for kernel in range(1, bank + 1)
        )
        self.pool = nn.MaxPool1d(2, stride=1, padding=1)
        self.projections = nn.Sequential(
            nn.Conv1d(bank * width, width, 3, padding=1),
            nn.ReLU(),
            nn.BatchNorm1d(width),
            nn.Conv1d(width, width, 3, padding=1),
            nn.BatchNorm1d(width),
        )
        self.highways = nn.Sequential(*(Highway(width) for _ in range(highways)))
        self.recurrent = nn.GRU(width, width, batch_first=True, bidirectional=True)

    def forward(self, input_ids: Tensor) -> Tensor:
        characters = self.before(self.embedding(input_ids))
        x = characters.transpose(1, 2)
        length = x.shape[-1]
        # Even kernels and the pool give one step more than they get.
        x = torch.cat([convolution(x)[..., :length] for convolution in self.bank], dim=1)
        x = self.projections(self.pool(x)[..., :length]).transpose(1, 2)
        return self.recurrent(self.highways(x + characters))[0]


@builder("phoneme_encoder")
def phoneme_encoder(request: Request) -> Built:
    """The encoder of Tacotron 2 over `size` characters."""
    return PhonemeEncoder(**request.arguments), _characters(request)


@builder("bank_encoder")
def bank_encoder(request: Request) -> Built:
    """The encoder of Tacotron over `size` characters."""
    return BankEncoder(**request.arguments), _characters(request)


def _characters(request: Request) -> dict[str, Tensor]:
    return {"input_ids": torch.randint(0, request.arguments["symbols"], (request.batch, request.size))}
