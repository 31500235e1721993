"""The two kinds of settings files: the grid of experiments, and one file a compiler; both refuse what they do not know."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError

from nnirp.errors import InputError
from nnirp.parameters import Positive, Section, Share, describe

GRID = Path(__file__).with_name("experiments.yaml")
SETTINGS = Path(__file__).with_name("settings")
BASELINE = "identity"
NAMES = (BASELINE, "torchscript", "inductor", "onnxruntime", "openvino", "tensorrt", "tvm")

Count = Annotated[int, Field(ge=1)]
Batches = Annotated[tuple[Count, ...], Field(min_length=1)]


class Measurement(Section):
    """How every run is measured; the comments of `experiments.yaml` say what each is."""

    warm_ups: Annotated[int, Field(ge=0)]
    repeats: Count
    min_repeats: Count
    time_budget_s: Positive
    rounds: Count
    patience: Annotated[float, Field(ge=0)]
    drift_threshold: Annotated[float, Field(ge=0)]
    timeout_s: Positive
    memory_limit_gib: Positive
    tolerance: Positive
    settled_within: Share
    statistic: Literal["mean", "median", "p10", "min"]


class Experiment(Section):
    """One family: what is built, at which size, and tiers of axes whose product is swept."""

    what: str
    builder: str
    size: Count
    size_kind: Literal["im", "seq"]
    tiers: Annotated[
        tuple[dict[Literal["architecture", "width", "depth"], tuple[str | int, ...]], ...], Field(min_length=1)
    ]


class Grid(Section):
    """`experiments.yaml`."""

    version: Count
    batches: Batches
    quick_batches: Batches
    measurement: Measurement
    experiments: dict[str, Experiment]


class Planning(Section):
    """Guesses for a plan: seconds before the first timed call, of blocks and of whole networks, and how fast they run."""

    prepare_s: Positive
    network_s: Positive
    gflops: Positive


class Compiler(Section):
    """One settings file: which runtime compiles, where, and how.

    Attributes:
        runtime: one of `nnirp.runtimes.names()`.
        device: `cpu`, `cuda` or `cuda:N`.
        precision: of weights and inputs.
        threads: of one inference on the processor, or `affinity` for the cores this process may use.
        options: of the runtime, see `nnirp.runtimes.options`.
        max_gflops: runs with more arithmetic are left out.
        planning: see `Planning`.
    """

    name: str
    runtime: str
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?)$")]
    precision: Literal["fp32", "bf16"]
    threads: Count | Literal["affinity"]
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    max_gflops: Positive | None = None
    planning: Planning

    @property
    def cores(self) -> int:
        """Threads of one inference."""
        return len(os.sched_getaffinity(0)) if self.threads == "affinity" else self.threads


def load_grid(path: Path | None = None) -> Grid:
    """Read the grid of experiments; the package's own by default.

    Raises:
        InputError: the file is absent, or a key or value does not fit.
    """
    return _read(path or GRID, Grid, {})


def load_compiler(name: str, folder: Path | None = None, device: str | None = None) -> Compiler:
    """Read the settings of a compiler.

    Args:
        name: of the file, without its suffix.
        folder: of settings files; the package's own by default.
        device: instead of the file's.

    Raises:
        InputError: there is no such compiler, or a key or value does not fit.
    """
    folder = folder or SETTINGS
    known = compiler_names(folder)
    if name not in known:
        raise InputError(f"compiler {name!r} is not known; expected one of {', '.join(known)}; `nnirp compilers list`")
    return _read(folder / f"{name}.yaml", Compiler, {"name": name} | ({"device": device} if device else {}))


def compiler_names(folder: Path | None = None) -> list[str]:
    """Compilers that have a settings file, the baseline first."""
    found = {path.stem for path in (folder or SETTINGS).glob("*.yaml")}
    return [name for name in NAMES if name in found] + sorted(found - set(NAMES))


def _read(path: Path, kind: type[Section], more: dict[str, Any]) -> Any:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise InputError(f"{path} holds no mapping; copy {path.name} from the package and change it")
        return kind.model_validate(content | more)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; name a file like {GRID.name} of the package") from None
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not YAML ({' '.join(str(error).split())[:160]}); mend it") from None
    except ValidationError as error:
        raise InputError(f"{path.name}: {describe(error)}; mend it and run again") from None
