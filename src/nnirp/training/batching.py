"""Class-bounded batches whose order depends on the seed and the epoch alone, so that a resumed run sees the same ones."""

from collections.abc import Callable, Iterator
from itertools import islice

import torch

from nnirp.training.compression import Compressed, CompressedSet


class BatchStream:
    """The training batches of one epoch after the other: each iteration is the next epoch, from `epoch` on.

    It counts by itself because the trainer asks for the first batches of a resumed run before it has restored its own count.
    With several processes each takes its share of the batches; those that do not divide evenly are left to another epoch.
    """

    def __init__(
        self,
        graphs: CompressedSet,
        max_classes: int,
        seed: int,
        epoch: int = 0,
        rank: Callable[[], int] = int,
        world: int = 1,
    ) -> None:
        self.graphs, self.max_classes, self.seed, self.epoch = graphs, max_classes, seed, epoch
        self.rank, self.world = rank, world

    def __iter__(self) -> Iterator[Compressed]:
        generator = torch.Generator().manual_seed(epoch_seed(self.seed, self.epoch))
        self.epoch += 1
        return self._batches(generator)

    def _batches(self, generator: torch.Generator) -> Iterator[Compressed]:
        positions = self.graphs.partition(self.max_classes, shuffle=True, generator=generator)
        if self.world == 1:
            yield from map(self.graphs.batch, positions)
            return
        while len(share := list(islice(positions, self.world))) == self.world:
            yield self.graphs.batch(share[self.rank()])


class FixedBatches:
    """The same batches every time, in the order of the set; with several processes each takes its share."""

    def __init__(self, graphs: CompressedSet, max_classes: int, rank: Callable[[], int] = int, world: int = 1) -> None:
        self.batches = list(graphs.batches(max_classes))
        self.rank, self.world = rank, world

    def __iter__(self) -> Iterator[Compressed]:
        return iter(self.batches[self.rank() :: self.world])


def epoch_seed(seed: int, epoch: int) -> int:
    """A seed of its own for every epoch of a run."""
    return (seed * 1_000_003 + epoch * 7_919 + 17) % (1 << 63)


def classes_per_batch(graphs: CompressedSet, steps: int, limit: int) -> int:
    """The bound that gives about `steps` batches an epoch, never above `limit`, never below the mean graph."""
    total = int(graphs.costs.sum())
    return max(1, min(limit, max(-(-total // max(steps, 1)), total // max(len(graphs), 1))))
