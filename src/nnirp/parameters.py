"""`params.yaml` as a validated object: an unknown key, a wrong type or a negative number is refused before a stage starts."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nnirp.errors import InputError, NotPulledError

Version = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Seed = Annotated[int, Field(ge=0)]


class Section(BaseModel):
    """One section of the file; immutable, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CatalogParameters(Section):
    version: Version
    selection: Literal["starter", "full"]
    configurations: tuple[Annotated[int, Field(ge=1)], ...] = ()
    samples_per_configuration: Annotated[int, Field(ge=1)] | None = None


class ExportParameters(Section):
    version: Version
    opset: Annotated[int, Field(ge=18, le=25)]


class ClusterParameters(Section):
    version: Version
    similarity: Share


class ProfileParameters(Section):
    version: Version
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?)$")]
    runtime: str
    threads: Annotated[int, Field(ge=1)]
    min_repeats: Annotated[int, Field(ge=5)]
    max_repeats: Annotated[int, Field(ge=5)]
    time_budget_s: Positive
    timeout_s: Positive
    memory_limit_gib: Positive
    retest_fraction: Share
    max_attempts: Annotated[int, Field(ge=1)]
    seed: Seed
    rounds: Annotated[int, Field(ge=1)] = 12
    interleave: Annotated[int, Field(ge=1)] = 24
    hold_gib: Positive = 6.0
    patience: Annotated[float, Field(ge=0)] = 1.0
    drift_threshold: Annotated[float, Field(ge=0)] = 0.1


class EncodeParameters(Section):
    version: Version
    form: Literal["canonical", "executed"]
    targets: Annotated[tuple[str, ...], Field(min_length=1)]
    statistic: Literal["mean", "median", "p10", "min"]


class SplitParameters(Section):
    version: Version
    seed: Seed


class TrainParameters(Section):
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    keep_weights: tuple[str, ...]
    without_weights: tuple[str, ...] = ()
    settings: dict[str, dict[str, int | float | bool | str]] = {}


class EvaluateParameters(Section):
    bootstrap: Annotated[int, Field(ge=100)]
    confidence: Annotated[float, Field(gt=0, lt=1)]


class Parameters(Section):
    """The whole of `params.yaml`; one section a stage."""

    catalog: CatalogParameters
    export: ExportParameters
    cluster: ClusterParameters
    profile: ProfileParameters
    encode: EncodeParameters
    split: SplitParameters
    train: TrainParameters
    evaluate: EvaluateParameters


def load_parameters(path: Path) -> Parameters:
    """Read and validate a parameter file.

    Raises:
        NotPulledError: the file is absent.
        InputError: it is not YAML, or a key is unknown or missing, or a value is out of its range.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotPulledError(
            f"{path} is missing; run this inside a clone of the project, or `git checkout {path.name}`"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not YAML ({_one_line(error)}); mend it or `git checkout {path.name}`") from None
    try:
        return Parameters.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{path.name}: {describe(error)}; mend it or `git checkout {path.name}`") from None


def describe(error: ValidationError) -> str:
    """The first problem of a validation error on one line: where, what is wrong, and the value that was found."""
    problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    first = problems[0]  # an unknown key before the known one it was meant to be
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    found = "" if first["type"] in {"missing", "extra_forbidden"} else f", found {first['input']!r}"
    what = {"extra_forbidden": "is not a known key", "missing": "is missing"}.get(first["type"], first["msg"])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return _one_line(f"`{where}` {what}{found}{more}")


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
