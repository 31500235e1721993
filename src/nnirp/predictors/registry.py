"""Predictors by name. A module of this folder that decorates a class with `register` is found; nothing else lists it."""

import importlib
import json
import pkgutil
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import nnirp.predictors
from nnirp.errors import InputError, NotPulledError
from nnirp.predictors.interface import CONFIG, Predictor

_CLASSES: dict[str, type[Predictor]] = {}
T = TypeVar("T", bound=type[Predictor])


def register(cls: T) -> T:
    """Make a predictor known under its `name`; a class decorator.

    Raises:
        ValueError: another class has the name.
    """
    other = _CLASSES.get(cls.name)
    if other is not None and other.__qualname__ != cls.__qualname__:
        raise ValueError(f"two predictors are named {cls.name!r}: {other.__qualname__} and {cls.__qualname__}")
    _CLASSES[cls.name] = cls
    return cls


def names() -> tuple[str, ...]:
    """The names of all predictors, sorted."""
    _discover()
    return tuple(sorted(_CLASSES))


def create(name: str, **settings: Any) -> Predictor:
    """An untrained predictor.

    Args:
        name: one of `names()`.
        settings: the fields of its `Settings`; those left out have their defaults.

    Raises:
        InputError: the name or a setting is unknown.
    """
    return find(name)(**settings)


def find(name: str) -> type[Predictor]:
    """The class of a predictor.

    Raises:
        InputError: there is none of that name.
    """
    _discover()
    if name not in _CLASSES:
        raise InputError(f"there is no predictor {name!r}; expected one of: {', '.join(sorted(_CLASSES))}")
    return _CLASSES[name]


def load(folder: Path) -> Predictor:
    """A trained predictor from the folder that `Predictor.save` wrote.

    Raises:
        NotPulledError: the folder holds no predictor.
        InputError: it was written by a predictor or a format that this version does not know.
    """
    path = Path(folder) / CONFIG
    try:
        name = json.loads(path.read_text(encoding="utf-8"))["predictor"]
    except FileNotFoundError:
        raise NotPulledError(f"{path} is absent, expected a trained predictor; `dvc pull {folder}`") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is not the description of a trained predictor; `dvc pull --force {folder}`") from None
    return find(name).load(Path(folder))


@lru_cache(maxsize=1)
def _discover() -> None:
    for module in pkgutil.iter_modules(nnirp.predictors.__path__):
        importlib.import_module(f"{nnirp.predictors.__name__}.{module.name}")
