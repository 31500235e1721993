"""The file that describes a design space."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator

from nnirp.errors import InputError, NotPulledError
from nnirp.prediction.exploration.expressions import evaluate, is_expression

MAX_GRID = 100_000
Direction = Literal["minimize", "maximize"]
Point = dict[str, Any]


class Range(BaseModel):
    """Whole numbers from `low` to `high` in steps."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    low: PositiveInt = Field(alias="from")
    high: PositiveInt = Field(alias="to")
    step: PositiveInt = 1

    def values(self) -> list[int]:
        return list(range(self.low, self.high + 1, self.step))


class Search(BaseModel):
    """A search by Optuna instead of the whole grid."""

    model_config = ConfigDict(extra="forbid")
    trials: PositiveInt
    seed: int = 0


class Spec(BaseModel):
    """A design space.

    `builder` and `family` name a builder of the catalog; `arguments` are its arguments, those that are text such as `4 * hidden_size` are
    computed. `vary` lists the values of arguments, and of `batch`, `size` and `precision`. `depth` names the argument that repeats a
    block. `require` are conditions that a candidate must meet. `objectives` are targets of the predictor and `parameters`.
    """

    model_config = ConfigDict(extra="forbid")
    builder: str
    family: str
    arguments: dict[str, Any] = {}
    vary: dict[str, Range | list[Any]]
    depth: str | None = None
    batch: PositiveInt = 1
    size: PositiveInt = 128
    precision: Literal["fp32", "bf16"] = "fp32"
    mode: Literal["forward", "prefill", "decode"] = "forward"
    require: list[str] = []
    search: Literal["grid"] | Search = "grid"
    objectives: dict[str, Direction] = {
        "runtime_ms": "minimize",
        "peak_ram_mb": "minimize",
        "parameters": "maximize",
    }

    @model_validator(mode="after")
    def _consistent(self) -> "Spec":
        if not self.vary or any(not values_of(v) for v in self.vary.values()):
            raise ValueError("vary: expected at least one argument with at least one value")
        if self.depth is not None and self.depth not in self.vary:
            raise ValueError(f"depth: {self.depth!r} is not among what varies ({', '.join(self.vary)})")
        if not self.objectives:
            raise ValueError("objectives: expected at least one")
        return self

    def axes(self) -> dict[str, list[Any]]:
        """The values of everything that varies."""
        return {name: values_of(v) for name, v in self.vary.items()}

    def grid(self) -> Iterator[Point]:
        """Every allowed combination.

        Raises:
            InputError: there are too many.
        """
        axes = self.axes()
        count = 1
        for values in axes.values():
            count *= len(values)
        if count > MAX_GRID:
            raise InputError(
                f"the grid has {count:,} points, at most {MAX_GRID:,} are tried; use `search: {{trials: 500}}`"
            )
        for combination in itertools.product(*axes.values()):
            point = dict(zip(axes, combination, strict=True))
            if self.allows(point):
                yield point

    def allows(self, point: Point) -> bool:
        """Whether a point meets every condition."""
        values = self.complete(point)
        return all(evaluate(condition, values) for condition in self.require)

    def complete(self, point: Point) -> dict[str, Any]:
        """Every argument of a candidate by name, `batch`, `size` and `precision` among them."""
        values = {"batch": self.batch, "size": self.size, "precision": self.precision} | self.arguments | point
        free = {k: v for k, v in values.items() if isinstance(v, int)}
        return {k: evaluate(v, free) if is_expression(v, free) else v for k, v in values.items()}


def values_of(values: Range | list[Any]) -> list[Any]:
    """The values of one axis."""
    return values.values() if isinstance(values, Range) else values


def read_spec(path: Path) -> Spec:
    """Read a YAML file.

    Raises:
        NotPulledError: it is absent.
        InputError: it is no description of a design space.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotPulledError(f"{path} does not exist; docs/asking.md shows what a design space looks like") from None
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path} is no YAML ({' '.join(str(error).split())[:200]})") from None
    try:
        return Spec.model_validate(content)
    except ValidationError as error:
        first = max(error.errors(), key=lambda e: len(e["loc"]) + ("literal" not in str(e["loc"])))  # the most specific
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(f"{path}: {where}: {first['msg']}; docs/asking.md shows an example") from None
