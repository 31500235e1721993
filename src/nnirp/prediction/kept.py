"""Where trained predictors are kept, and what each rests on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnirp.errors import InputError, NotPulledError
from nnirp.prediction.device import DeviceRates, device_rates


@dataclass(frozen=True)
class Kept:
    """A trained predictor: the folder with its weights, what it rests on, its dataset's form and targets, and its device's rates."""

    weights: Path
    rests_on: Mapping[str, Any]
    targets: tuple[str, ...]
    form: str
    rates: DeviceRates | None


def find_kept(
    models: Path,
    manifests: Path,
    predictor: str = "additive_roofline",
    protocol: str = "cluster",
    *,
    device: str | None = None,
    runtime: str | None = None,
) -> Kept:
    """The kept predictor of a dataset root.

    Args:
        models, manifests: folders of the root.
        predictor, protocol: which one.
        device, runtime: refuse it where its device's name does not contain this, or its runtime is another one.

    Raises:
        NotPulledError: its weights, record or dataset are absent.
        InputError: it is of another device or runtime.
    """
    weights = find_weights(models, predictor, protocol)
    dataset = manifests / "dataset.json"
    if not dataset.is_file():
        raise NotPulledError(
            f"{dataset} is missing; `dvc pull data/manifests` brings the published one, `dvc repro` makes it"
        )
    content = json.loads(dataset.read_text(encoding="utf-8"))
    basis = basis_of(weights) | {"runtime": _runtime(manifests)}
    for what, wanted, has in (("device", device, basis["device"]), ("runtime", runtime, basis["runtime"])):
        if wanted is not None and wanted.lower() not in (has or "").lower():
            raise InputError(
                f"--{what} {wanted!r}: the predictor here learned on {has or 'an unknown ' + what}; name the dataset root of another with --root"
            )
    return Kept(weights, basis, tuple(content["targets"]), content["form"], device_rates(manifests))


def find_weights(models: Path, predictor: str, protocol: str = "cluster") -> Path:
    """The folder with the kept weights of a predictor.

    Raises:
        NotPulledError: none is there.
    """
    found = sorted((models / protocol / predictor).glob("*/weights"))
    if not found:
        kept = sorted({f"{path.parts[-3]} ({path.parts[-4]})" for path in models.glob("*/*/*/weights")})
        there = f"weights are there of: {', '.join(kept)}" if kept else "`dvc pull models` brings the published ones"
        raise NotPulledError(f"no weights of predictor {predictor!r} for protocol {protocol!r} in {models}; {there}")
    return found[0]


def basis_of(weights: Path) -> dict[str, Any]:
    """What a predictor rests on, by the run record beside its weights.

    Raises:
        NotPulledError: the record is absent.
    """
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


def _runtime(manifests: Path) -> str | None:
    """The runtime that the campaign measured; None where its record is not there."""
    record = manifests / "campaign" / "run.json"
    if not record.is_file():
        return None
    return json.loads(record.read_text(encoding="utf-8")).get("parameters", {}).get("profile.runtime")
