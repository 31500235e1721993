"""One model file in, one answer out: every target with unit and interval, and what the answer rests on."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nnirp.errors import NotPulledError
from nnirp.features.data import to_data
from nnirp.features.vocabulary import load_vocabulary
from nnirp.layers.store import COLUMNS, GraphSet, GraphStore
from nnirp.prediction.encoding import encode_file
from nnirp.predictors import load
from nnirp.training.pool import Novelty, novelty, read_pool

log = logging.getLogger(__name__)

UNITS = {"runtime_ms": "ms", "peak_ram_mb": "MB", "peak_vram_mb": "MB", "energy_j": "J"}
LABELS = {
    "runtime_ms": "runtime",
    "peak_ram_mb": "peak memory",
    "peak_vram_mb": "peak GPU memory",
    "energy_j": "energy",
}


@dataclass(frozen=True)
class Estimate:
    """One target: value and a 90 % interval, in `unit`."""

    target: str
    value: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True)
class Operator:
    """One node's share of the predicted runtime."""

    operator: str
    position: int
    milliseconds: float
    share: float


@dataclass(frozen=True)
class Answer:
    """What `nnirp predict` says about one model at one batch size."""

    model: str
    batch: int
    nodes: int
    gflops: float
    weights_mb: float
    estimates: tuple[Estimate, ...]
    novelty: Novelty
    rests_on: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    operators: tuple[Operator, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain data, the schema of `--json`."""
        return asdict(self)


def predict_onnx(
    path: Path,
    *,
    weights: Path,
    dataset: Mapping[str, Any],
    batch: int | None = None,
    dimensions: Mapping[str, int] | None = None,
    top_operators: int = 0,
) -> Answer:
    """Predict one ONNX file.

    Args:
        path: the file; its weights are not read and need not be there.
        weights: a folder that a predictor's `save` wrote, with the pool's description beside it.
        dataset: the content of `manifests/dataset.json` that the predictor was trained on.
        batch: pins a symbolic batch dimension.
        dimensions: pins other symbolic dimensions by name.
        top_operators: how many of the most expensive operators to name, where the predictor can attribute.

    Raises:
        InputError: the file is no ONNX model, or a dimension is left open.
    """
    encoded = encode_file(path, batch=batch, dimensions=dimensions or {}, form=dataset["form"])
    graphs = single_graph(encoded, tuple(dataset["targets"]))
    predictor = load(weights)
    prediction = predictor.predict(graphs)
    estimates = [
        Estimate(
            target,
            *(float(np.exp2(v[0, position])) for v in (prediction.mean, prediction.low, prediction.high)),
            UNITS[target],
        )
        for position, target in enumerate(graphs.targets)
        if not np.isnan(prediction.mean[0, position])
    ]
    names = load_vocabulary().operators
    return Answer(
        model=path.name,
        batch=encoded.batch,
        nodes=len(encoded.x),
        gflops=encoded.total_flops / 1e9,
        weights_mb=float(encoded.memory[0]) / 2**20,
        estimates=tuple(estimates),
        novelty=novelty(graphs, read_pool(weights), names),
        rests_on=_basis(weights),
        warnings=tuple(encoded.warnings),
        operators=_operators(predictor, graphs, encoded, names, top_operators),
    )


def single_graph(encoded, targets: tuple[str, ...]) -> GraphSet:
    """An encoded graph as a set of one, without labels."""
    samples = pd.DataFrame([dict.fromkeys(COLUMNS)]).assign(sample="model", precision="fp32")
    memory = np.asarray(encoded.memory, dtype=np.float64).reshape(1, 4)
    return GraphStore.from_graphs([to_data(encoded, [float("nan")] * len(targets))], samples, targets, memory).all()


def _operators(predictor, graphs: GraphSet, encoded, names: tuple[str, ...], count: int) -> tuple[Operator, ...]:
    if not count or not hasattr(predictor, "attribute"):
        return ()
    milliseconds = np.asarray(predictor.attribute(graphs)[0], dtype=np.float64)
    order = np.argsort(-milliseconds)[:count]
    total = milliseconds.sum()
    return tuple(
        Operator(names[int(encoded.op[i])], int(i), float(milliseconds[i]), float(milliseconds[i] / total))
        for i in order
    )


def _basis(weights: Path) -> dict[str, Any]:
    record = weights.parent / "run.json"
    if not record.is_file():
        raise NotPulledError(f"{record} is missing; `dvc pull models` brings it")
    run = json.loads(record.read_text(encoding="utf-8"))
    return {
        "predictor": run["tags"]["predictor"],
        "protocol": run["tags"]["protocol"],
        "trained": run["ended"],
        "samples": run["parameters"]["train_samples"],
        "dataset_revision": run["tags"]["dataset_revision"],
        "device": run["tags"]["device"],
    }
