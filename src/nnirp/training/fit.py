"""Fits a network to graphs: class-bounded batches, early stopping, the best epoch's weights, resumable after a kill."""

import contextlib
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn

from nnirp.training.batching import BatchStream, FixedBatches, classes_per_batch
from nnirp.training.compression import CompressedSet
from nnirp.training.module import Progress, TrainingModule, TrainingSettings

LAST = "last.ckpt"


def fit_network(
    network: nn.Module,
    train: CompressedSet,
    val: CompressedSet | None,
    settings: TrainingSettings,
    *,
    seed: int,
    log: Callable[[str, float, int], None],
    checkpoints: Path | None = None,
) -> int:
    """Train `network` in place and leave it with the weights of its best epoch.

    Args:
        network: as `nnirp.training.module.Network` describes.
        train: graphs that each have a label.
        val: without it every epoch is run and the last one kept.
        settings: of the loop. With several devices the processes are forked, and the curves are reported at the end.
        seed: of the order of batches and of dropout; the initial weights are the caller's.
        log: receives ("loss" | "validation_error_log2", value, epoch).
        checkpoints: a folder for `last.ckpt`; where one lies there, training goes on from it and ends as if it had never
            stopped. It is deleted at the end.

    Returns:
        The number of the best epoch.
    """
    last = checkpoints / LAST if checkpoints else None
    resume = str(last) if last and last.is_file() else None
    epoch = torch.load(last, weights_only=True)["epoch"] + 1 if resume else 0
    with _quiet(), torch.random.fork_rng(devices=[]), tempfile.TemporaryDirectory() as folder:
        handover = Path(folder) / "progress.pt" if settings.devices > 1 else None
        module = TrainingModule(network, settings, seed, log, handover)
        trainer = _trainer(settings, checkpoints, validate=val is not None)
        share = {"rank": lambda: trainer.global_rank, "world": trainer.world_size}
        bound = classes_per_batch(train, settings.steps_per_epoch, settings.max_classes)
        stream = BatchStream(train, bound, seed, epoch, **share)
        validation = None if val is None else FixedBatches(val, settings.max_classes, **share)
        trainer.fit(module, stream, validation, ckpt_path=resume, weights_only=True)
        if handover:
            module.progress = Progress(**torch.load(handover, weights_only=True))
            module.replay()
    if module.progress.best:
        network.load_state_dict(module.progress.best)
    network.eval()
    if last:
        last.unlink(missing_ok=True)
    return module.progress.epoch if module.progress.best else settings.max_epochs - 1


def _trainer(settings: TrainingSettings, checkpoints: Path | None, validate: bool):
    from lightning.pytorch import Trainer
    from lightning.pytorch.callbacks import ModelCheckpoint

    callbacks = []
    if checkpoints:
        callbacks.append(
            ModelCheckpoint(
                dirpath=checkpoints,
                filename=Path(LAST).stem,
                every_n_epochs=settings.checkpoint_every_n_epochs,
                save_on_train_epoch_end=True,
                enable_version_counter=False,
            )
        )
    return Trainer(
        accelerator=settings.accelerator,
        devices=settings.devices,
        strategy="ddp_fork" if settings.devices > 1 else "auto",
        max_epochs=settings.max_epochs,
        gradient_clip_val=settings.clip_norm,
        callbacks=callbacks,
        logger=False,
        enable_checkpointing=bool(callbacks),
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        limit_val_batches=None if validate else 0,
        use_distributed_sampler=False,
        default_root_dir=checkpoints or os.devnull,
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Lightning's hints about loaders and hardware do not concern a packed store."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
