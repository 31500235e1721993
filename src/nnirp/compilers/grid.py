"""From the grid to runs: one run is one model at one batch, compiled and measured by itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from nnirp.catalog import Sample, SourceConfiguration
from nnirp.compilers.configuration import Experiment, Grid
from nnirp.errors import InputError


@dataclass(frozen=True)
class Model:
    """One model of an experiment; its runs differ in the batch alone.

    `number` counts the models of the whole grid from 1. `width` and `depth` are None where the experiment does not sweep them.
    """

    experiment: str
    name: str
    tier: int
    number: int
    width: int | None
    depth: int | None
    configuration: SourceConfiguration

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The runs, smallest batch first; a run's name is the sample's."""
        return self.configuration.samples


def models_of(
    grid: Grid,
    experiments: Sequence[str] = (),
    *,
    quick: bool = False,
    tiers: int | None = None,
    precision: str = "fp32",
) -> list[Model]:
    """The models to measure, tier after tier and inside it experiment after experiment.

    Args:
        grid: of experiments.
        experiments: of these only; all where empty.
        quick: at the grid's quick batches only.
        tiers: this many of each experiment; all by default.
        precision: of weights and inputs.

    Raises:
        InputError: an experiment is not in the grid.
    """
    if unknown := [name for name in experiments if name not in grid.experiments]:
        raise InputError(
            f"experiment {unknown[0]!r} is not known; expected one of {', '.join(grid.experiments)}; `nnirp compilers list`"
        )
    batches = grid.quick_batches if quick else grid.batches
    found = []
    for name, experiment in grid.experiments.items():
        for tier, axes in enumerate(experiment.tiers, start=1):
            for values in product(*axes.values()):
                arguments = dict(zip(axes, values, strict=True))
                model = _model(name, experiment, tier, len(found) + 1, arguments)
                samples = tuple(_sample(model, experiment, batch, precision) for batch in sorted(batches))
                found.append(replace(model, configuration=replace(model.configuration, samples=samples)))
    kept = [m for m in found if (not experiments or m.experiment in experiments) and m.tier <= (tiers or m.tier)]
    order = list(grid.experiments)
    return sorted(kept, key=lambda model: (model.tier, order.index(model.experiment), model.number))


def _model(experiment: str, settings: Experiment, tier: int, number: int, arguments: dict[str, Any]) -> Model:
    architecture, width, depth = (arguments.get(axis) for axis in ("architecture", "width", "depth"))
    name = architecture or "_".join(f"{short}{value}" for short, value in (("w", width), ("d", depth)) if value)
    configuration = SourceConfiguration(
        id=number,
        name=f"{experiment}_{name}",
        family=experiment,
        sub_family=experiment,
        builder=settings.builder,
        arguments=arguments,
        library="timm" if architecture else "nnirp",
        model_type=None,
        parametric=not architecture,
        samples=(),
    )
    return Model(experiment, name, tier, number, width, depth, configuration)


def _sample(model: Model, experiment: Experiment, batch: int, precision: str) -> Sample:
    name = f"{model.configuration.name}_{experiment.size_kind}{experiment.size}_b{batch}_{precision}"
    return Sample(name, model.number, batch, experiment.size, experiment.size_kind, precision, "forward")
