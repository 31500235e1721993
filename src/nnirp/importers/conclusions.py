"""What a features layer without a `dataset.json` is: concluded from its labels, its records and its graphs."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from nnirp.errors import InputError
from nnirp.layers.archives import iter_archive
from nnirp.layers.manifests import DatasetManifest
from nnirp.layers.packing import CARD_TARGETS, iter_samples
from nnirp.layers.records import TARGET_METRICS, ProfileRecord, read_record

COMPARED = 8
"""Graphs that are encoded to see whether the features' operator numbers are this vocabulary's."""
STATISTICS = ("median", "mean", "min", "p10")
AGREEING = 0.9
"""Share of labels that must agree with a metric of the records; not all, as a memory metric may be missing in some."""


@dataclass
class Notes:
    """What was concluded, what nothing says and is assumed, and what was left out; for the report."""

    derived: dict[str, str] = field(default_factory=dict)
    assumed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def read_labels(root: Path, on_progress: Callable[..., None] = lambda *_: None) -> dict[str, np.ndarray]:
    """{sample: `y` float32 [T]}; every graph is read.

    Raises:
        InputError: a graph is broken, or an operator number is beyond the vocabulary.
    """
    from nnirp.features.vocabulary import load_vocabulary

    operators = len(load_vocabulary())
    labels: dict[str, np.ndarray] = {}
    seen: set[int] = set()
    total = len(list((root / "pyg-features").iterdir()))
    for configuration, name, data in iter_samples(root):
        if configuration not in seen:
            on_progress(len(seen), total, f"configuration {configuration}")
            seen.add(configuration)
        if (largest := int(data.op_type_id.max())) >= operators:
            raise InputError(
                f"pyg-features/{configuration}.tar.gz: {name} has operator number {largest}, this vocabulary ends at "
                f"{operators - 1}: it was encoded with another; use --encode to encode its graphs anew"
            )
        labels[name] = np.full(1, np.nan, dtype=np.float32) if data.y is None else data.y[0].numpy()
    return labels


def conclude(root: Path, labels: Mapping[str, np.ndarray], notes: Notes) -> DatasetManifest:
    """The manifest that the layer would have.

    Args:
        root: with `pyg-features/`, and graphs and records as far as they are complete.
        labels: as `read_labels` gives them.
        notes: gets a line for each conclusion and each assumption.

    Raises:
        InputError: the labels are of an unknown width or do not agree with the records, or the operators of a graph carry
            other numbers than this vocabulary's.
    """
    from nnirp.features.vocabulary import load_vocabulary

    fingerprint, targets, statistic = _from_records(root, labels, notes)
    form = _form(root, notes)
    vocabulary = load_vocabulary()
    return DatasetManifest(
        targets=targets,
        target_statistic=statistic,
        vocabulary={"version": vocabulary.version, "digest": vocabulary.digest},
        form=form,
        encoder_version="published",
        fingerprint=fingerprint,
        dropped=_not_encoded(root, labels),
    )


def named(device: str | None) -> dict[str, Any] | None:
    """A fingerprint of which only the name is known."""
    return None if device is None else {"device": "unknown", "processor": {"name": device}}


def records(root: Path) -> Iterator[tuple[str, ProfileRecord]]:
    """Samples and records of the profiling layer, none where it is absent."""
    for path in sorted((root / "profiling").glob("*.tar.gz")):
        for member, content in iter_archive(path):
            yield member.removesuffix(".json"), read_record(content, f"profiling/{path.name}: {member}")


def _not_encoded(root: Path, labels: Mapping[str, Any]) -> dict[str, str]:
    """Samples that have a graph and a good record, but no features."""
    if not (root / "onnx-graphs").is_dir():
        return {}
    archives = sorted((root / "onnx-graphs").glob("*.tar.gz"))
    graphs = {member.removesuffix(".onnx") for path in archives for member, _ in iter_archive(path)}
    good = {name for name, record in records(root) if record.ok}
    return dict.fromkeys(sorted((good & graphs) - labels.keys()), "not in the features that were published")


def _from_records(
    root: Path, labels: Mapping[str, np.ndarray], notes: Notes
) -> tuple[dict[str, Any] | None, tuple[str, ...], str]:
    """Device fingerprint, the targets that the columns of `y` are, and their statistic: what agrees with the records."""
    width = len(next(iter(labels.values())))
    fingerprint, agreeing, compared = None, Counter(), 0
    for name, record in records(root):
        fingerprint = fingerprint or record.meta.fingerprint
        if name not in labels or not record.ok:
            continue
        compared += 1
        measured = record.metrics.get(TARGET_METRICS["runtime_ms"])
        known = [name for name in STATISTICS if measured is None or getattr(measured, name) is not None]
        for target, statistic in product(TARGET_METRICS, known):
            value = record.target(target, statistic)
            for column in range(width):
                agreeing[column, target, statistic] += bool(abs(value - labels[name][column]) < 1e-4)
    if not compared:
        if width not in CARD_TARGETS:
            raise InputError(f"`y` has {width} columns and no manifests/dataset.json names them; get the manifest too")
        columns = f"{width} column{'s' if width > 1 else ''}"
        notes.assumed["targets"] = f"{', '.join(CARD_TARGETS[width])}: `y` has {columns}, as in the card"
        notes.assumed["target_statistic"] = "mean: there are no records to compare the labels with"
        return fingerprint, CARD_TARGETS[width], "mean"
    best = max(STATISTICS, key=lambda statistic: agreeing[0, "runtime_ms", statistic])
    targets = tuple(max(TARGET_METRICS, key=lambda t: agreeing[column, t, best]) for column in range(width))
    for column, target in enumerate(targets):
        if agreeing[column, target, best] < AGREEING * compared:
            raise InputError(
                f"column {column} of the labels in pyg-features is no metric of the records in profiling: {target} agrees "
                f"in {agreeing[column, target, best]} of {compared}; the layers are of different versions, fetch both again or use --encode"
            )
    notes.derived["targets"] = f"{', '.join(targets)}: the labels agree with the records"
    notes.derived["target_statistic"] = f"{best}: {agreeing[0, targets[0], best]} of {compared} labels agree"
    return fingerprint, targets, best


def _form(root: Path, notes: Notes) -> str:
    """Encode a graph of each of a few archives; which form has the layer's operators, and do they carry the same numbers.

    Raises:
        InputError: a graph has as many of each operator as the layer says, under other numbers.
    """
    from nnirp.features.encoder import FORMS

    equal, compared = Counter(), 0
    archives = sorted((root / "onnx-graphs").glob("*.tar.gz"), key=lambda path: (path.stat().st_size, path.name))
    for path in archives[:COMPARED]:
        pair = _first_pair(path, root / "pyg-features" / path.name)
        if pair is None:
            continue
        compared += 1
        name, published, encoded = pair
        for form in FORMS:
            equal[form] += published == encoded[form]
        if published not in encoded.values() and sorted(published.values()) in map(_counts, encoded.values()):
            raise InputError(
                f"pyg-features/{path.name}: {name} has the operators of its graph under other numbers: it was encoded with "
                "another vocabulary; use --encode to encode the graphs anew"
            )
    best = max(FORMS, key=lambda form: equal[form])
    if compared and equal[best] == compared:
        notes.derived["vocabulary"] = f"the operators of {compared} graphs have this package's numbers"
        notes.derived["form"] = best
        return best
    notes.assumed["vocabulary"] = (
        f"this package's: the features of {compared} graphs have other operators than these encode to, by number and kind"
        if compared
        else "this package's: there is no graph to compare the operator numbers with"
    )
    notes.assumed["form"] = "executed"
    return "executed"


def _first_pair(graphs: Path, features: Path) -> tuple[str, Counter, dict[str, Counter]] | None:
    """A sample that is in both archives: its name, its operators, and those its graph encodes to, by form."""
    from nnirp.features.encoder import FORMS, encode
    from nnirp.graphs.reading import read_onnx
    from nnirp.layers.samples import load_sample

    published = dict(iter_archive(features))
    for member, content in iter_archive(graphs):
        name = member.removesuffix(".onnx")
        if f"{name}.pt.zst" in published:
            data = load_sample(published[f"{name}.pt.zst"], where=f"pyg-features/{features.name}: {name}")
            model = read_onnx(content)
            encoded = {form: Counter(encode(model, form=form).op.tolist()) for form in FORMS}
            return name, Counter(data.op_type_id.tolist()), encoded
    return None


def _counts(operators: Counter) -> list[int]:
    return sorted(operators.values())
