"""The Lightning module that trains every network: one loss, early stopping on validation, the best epoch's weights kept."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import cos, pi
from pathlib import Path
from typing import Any, Protocol

import lightning
import torch
from torch import Tensor, nn

from nnirp.training.batching import epoch_seed
from nnirp.training.compression import Compressed, Reader


@dataclass(frozen=True)
class TrainingSettings:
    """How a network is trained.

    `steps_per_epoch` sets the size of a batch (in classes of nodes) on small sets, `max_classes` bounds it on large ones; `patience`
    counts epochs without a better validation error; `warmup` is the share of the epochs over which the learning rate rises before
    it falls along a cosine. `accelerator` and `devices` are Lightning's; each device takes its share of an epoch's batches.
    """

    max_epochs: int = 100
    patience: int = 25
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    steps_per_epoch: int = 24
    max_classes: int = 20_000
    warmup: float = 0.05
    cosine: bool = True
    clip_norm: float = 1.0
    checkpoint_every_n_epochs: int = 5
    accelerator: str = "cpu"
    devices: int = 1


class Network(Reader, Protocol):
    """What the loop needs of a network besides what compression needs."""

    def loss(self, batch: Compressed) -> Tensor:
        """A scalar; the labels `batch.y` [G, T] in log2 are NaN where missing."""

    def predict(self, batch: Compressed) -> tuple[Tensor, Tensor | None]:
        """[G, T] in log2, and a spread or None."""


@dataclass
class Progress:
    """How far a fit is: the weights, validation error and number of its best epoch, and every point of its curves."""

    best: Mapping[str, Tensor]
    error: float
    epoch: int
    history: list[list]


class TrainingModule(lightning.LightningModule):
    """Trains `network`; `progress.best` holds the weights of the epoch with the least validation error.

    The validation error is the mean over targets of the mean absolute error in log2. Without validation graphs the last
    epoch is the best. With several processes the first writes its progress to `handover` when all are done.
    """

    def __init__(
        self,
        network: nn.Module,
        settings: TrainingSettings,
        seed: int,
        log: Callable[[str, float, int], None],
        handover: Path | None = None,
    ) -> None:
        super().__init__()
        self.network, self.settings, self.seed, self.report = network, settings, seed, log
        self.handover = handover
        self.progress = Progress({}, float("inf"), -1, [])

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

    def transfer_batch_to_device(self, batch: Compressed, device: torch.device, dataloader_idx: int) -> Compressed:
        return batch.to(device)

    def on_train_epoch_start(self) -> None:
        torch.manual_seed(epoch_seed(self.seed, self.current_epoch) + self.global_rank)
        self._loss, self._steps = 0.0, 0

    def training_step(self, batch: Compressed, index: int) -> Tensor:
        loss = self.network.loss(batch)
        self._loss, self._steps = self._loss + float(loss.detach()), self._steps + 1
        return loss

    def on_validation_epoch_start(self) -> None:
        self._errors = self._counts = 0.0

    def validation_step(self, batch: Compressed, index: int) -> None:
        mean, _ = self.network.predict(batch)
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
        if error < self.progress.error:
            best = {name: value.detach().cpu() for name, value in copy.deepcopy(self.network.state_dict()).items()}
            self.progress = Progress(best, error, self.current_epoch, self.progress.history)
        elif self.current_epoch - self.progress.epoch >= self.settings.patience:
            self.trainer.should_stop = True

    def on_train_epoch_end(self) -> None:
        self._curve("loss", self._loss / max(self._steps, 1))

    def on_fit_end(self) -> None:
        if self.handover and self.global_rank == 0:
            torch.save(vars(self.progress), self.handover)

    def _curve(self, name: str, value: float) -> None:
        self.progress.history.append([name, value, self.current_epoch])
        if not self.handover:  # another process's log is not this one's
            self.report(name, value, self.current_epoch)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["progress"] = vars(self.progress)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.progress = Progress(**checkpoint["progress"])
        if not self.handover:
            self.replay()

    def replay(self) -> None:
        """Report every point of the curves again."""
        for name, value, step in self.progress.history:
            self.report(name, value, step)
