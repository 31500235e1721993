"""The Lightning module that trains every network: one loss, early stopping on validation, the best epoch's weights kept."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import cos, pi
from typing import Any, Protocol

import lightning
import torch
from torch import Tensor, nn

from nnirp.layers.store import GraphBatch
from nnirp.training.batching import epoch_seed


@dataclass(frozen=True)
class TrainingSettings:
    """How a network is trained.

    `steps_per_epoch` sets the size of a batch (in nodes) on small sets, `max_nodes` bounds it on large ones; `patience` counts epochs
    without a better validation error; `warmup` is the share of the epochs over which the learning rate rises before it
    falls along a cosine. `accelerator` and `devices` are Lightning's.
    """

    max_epochs: int = 100
    patience: int = 25
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    steps_per_epoch: int = 24
    max_nodes: int = 20_000
    warmup: float = 0.05
    cosine: bool = True
    clip_norm: float = 1.0
    checkpoint_every_n_epochs: int = 5
    accelerator: str = "cpu"
    devices: int = 1


class Network(Protocol):
    """What the loop needs of a network."""

    def prepare(self, batch: GraphBatch) -> Any:
        """Everything about a batch that holds no learned number, such as its compression."""

    def loss(self, prepared: Any, y: Tensor) -> Tensor:
        """A scalar; labels [G, T] in log2 are NaN where missing."""

    def predict(self, prepared: Any) -> tuple[Tensor, Tensor | None]:
        """[G, T] in log2, and a spread or None."""


class TrainingModule(lightning.LightningModule):
    """Trains `network`; afterwards `best` holds the weights of the epoch with the least validation error.

    The validation error is the mean over targets of the mean absolute error in log2. Without validation graphs the last
    epoch is the best.
    """

    def __init__(
        self, network: nn.Module, settings: TrainingSettings, seed: int, log: Callable[[str, float, int], None]
    ) -> None:
        super().__init__()
        self.network, self.settings, self.seed, self.report = network, settings, seed, log
        self.best: Mapping[str, Tensor] = {}
        self.best_error, self.best_epoch = float("inf"), -1
        self.history: list[list] = []
        self._sums = torch.zeros(3)
        self._prepared: dict[int, Any] = {}

    def configure_optimizers(self) -> Any:
        s = self.settings
        decayed = [p for p in self.network.parameters() if p.ndim > 1]
        plain = [p for p in self.network.parameters() if p.ndim <= 1]
        groups = [{"params": decayed, "weight_decay": s.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW([g for g in groups if g["params"]], lr=s.learning_rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, self._rate)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "epoch"}}

    def _rate(self, epoch: int) -> float:
        warm = max(1, round(self.settings.warmup * self.settings.max_epochs))
        if epoch < warm:
            return (epoch + 1) / (warm + 1)
        if not self.settings.cosine:
            return 1.0
        done = min((epoch - warm) / max(self.settings.max_epochs - warm, 1), 1.0)
        return 0.01 + 0.99 * (1 + cos(pi * done)) / 2

    def transfer_batch_to_device(self, batch: GraphBatch, device: torch.device, dataloader_idx: int) -> GraphBatch:
        return batch.to(device)

    def on_train_epoch_start(self) -> None:
        torch.manual_seed(epoch_seed(self.seed, self.current_epoch) + self.global_rank)
        self._loss, self._steps = 0.0, 0

    def training_step(self, batch: GraphBatch, index: int) -> Tensor:
        loss = self.network.loss(self.network.prepare(batch), batch.y)
        self._loss, self._steps = self._loss + float(loss.detach()), self._steps + 1
        return loss

    def on_validation_epoch_start(self) -> None:
        self._errors = self._counts = 0.0

    def validation_step(self, batch: GraphBatch, index: int) -> None:
        if index not in self._prepared:
            self._prepared[index] = self.network.prepare(batch)
        mean, _ = self.network.predict(self._prepared[index])
        known = torch.isfinite(batch.y) & torch.isfinite(mean)
        error = torch.where(known, (mean - torch.nan_to_num(batch.y)).abs(), 0.0)
        self._errors = self._errors + error.sum(0)
        self._counts = self._counts + known.sum(0)

    def on_validation_epoch_end(self) -> None:
        errors, counts = (
            self.all_gather(torch.stack([self._errors, self._counts])).reshape(-1, 2, self._errors.numel()).sum(0)
        )
        error = float((errors[counts > 0] / counts[counts > 0]).mean())
        self._curve("validation_error_log2", error)
        if error < self.best_error:
            self.best_error, self.best_epoch = error, self.current_epoch
            self.best = copy.deepcopy(self.network.state_dict())
        elif self.current_epoch - self.best_epoch >= self.settings.patience:
            self.trainer.should_stop = True

    def on_train_epoch_end(self) -> None:
        self._curve("loss", self._loss / max(self._steps, 1))

    def _curve(self, name: str, value: float) -> None:
        self.history.append([name, value, self.current_epoch])
        self.report(name, value, self.current_epoch)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["progress"] = {
            "best": dict(self.best),
            "error": self.best_error,
            "epoch": self.best_epoch,
            "history": self.history,
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        progress = checkpoint["progress"]
        self.best, self.best_error, self.best_epoch = progress["best"], progress["error"], progress["epoch"]
        self.history = progress["history"]
        for name, value, step in self.history:
            self.report(name, value, step)
