"""The JSON record of one sample: the metrics of the dataset card and more, each a summary or `null` with a reason."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from nnirp.profiling.settings import ProfileSettings
from nnirp.profiling.statistics import summarise

SCHEMA = 1
CARD_METRICS = (
    "Runtime (ms)",
    "Peak VRAM (MB)",
    "Peak RAM (MB)",
    "Peak Disk Usage (MB)",
    "Disk Read (MB)",
    "Disk Write (MB)",
)
METRICS = (*CARD_METRICS, "Energy (J)", "CPU Utilization (%)", "GPU Utilization (%)")
STATUSES = ("ok", "skipped", "error", "timeout", "memory", "crash")


def plain(value: Any) -> dict[str, Any]:
    """A configuration or sample as a dict, without the samples of a configuration."""
    content = asdict(value) if is_dataclass(value) else dict(vars(value))
    content.pop("samples", None)
    return content


def blank_record(configuration: Any, sample: Any, settings: ProfileSettings, environment: Mapping[str, Any]) -> dict:
    """A record without measurements.

    Args:
        configuration: with id, name, family, sub_family.
        sample: with name, batch, size, size_kind, precision, mode, arguments.
        settings: of the campaign.
        environment: `fingerprint`, `affinity` and `nice` of the worker.
    """
    of_configuration = {
        "configuration_id": "id",
        "configuration_name": "name",
        "family": "family",
        "sub_family": "sub_family",
    }
    of_sample = ("batch", "size", "size_kind", "precision", "mode", "arguments")
    meta = {
        "schema": SCHEMA,
        "status": "error",
        "error": None,
        "sample": sample.name,
        **{key: getattr(configuration, name, None) for key, name in of_configuration.items()},
        **{name: getattr(sample, name, None) for name in of_sample},
        "device": settings.device,
        "threads": settings.threads,
        "runtime": {"name": settings.runtime},
        "settings": settings.to_dict(),
        "attempts": 1,
        "reasons": {},
        **environment,
    }
    return {**dict.fromkeys(METRICS), "_meta": meta}


def fill(record: dict, metric: str, values: Sequence[float], reason: str = "") -> None:
    """Set a metric to the summary of its values, or to `null` with a reason where there is none."""
    if values:
        record[metric] = summarise(values)
        record["_meta"]["reasons"].pop(metric, None)
    else:
        record[metric] = None
        record["_meta"]["reasons"][metric] = reason or "not measured"


def failed_record(
    configuration: Any, sample: Any, settings: ProfileSettings, environment: Mapping[str, Any], status: str, error: str
) -> dict:
    """A record of a sample that gave no measurement; `status` is one of `STATUSES` and `error` one line."""
    record = blank_record(configuration, sample, settings, environment)
    error = " ".join(str(error).split())[:500]
    record["_meta"] |= {"status": status, "error": error, "reasons": dict.fromkeys(METRICS, f"{status}: {error}")}
    return record
