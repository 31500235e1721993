"""One small sample a source configuration, with its weight-free graph: what the agreement benchmarks run over."""

import contextlib
import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import onnx
import torch

from nnirp.catalog import Sample, SourceConfiguration, build, load_catalog
from nnirp.errors import NnirpError
from nnirp.graphs.export import environment, export_graph

KEPT_BYTES = 16_000_000

# Depths that a configuration may have, and what a shallow model of the same kind gets instead.
_DEPTHS = {
    "num_hidden_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
}


def smallest(selection: str, ids: list[int]) -> Iterator[tuple[SourceConfiguration, Sample]]:
    """Each configuration (all where `ids` is empty) with its sample of the smallest product of batch and size."""
    for configuration in load_catalog(selection).subset(ids, samples=1).configurations:
        yield configuration, configuration.samples[0]


def shallow(configuration: SourceConfiguration, sample: Sample) -> Sample:
    """The sample with two layers a stack where its model type's configuration has such fields; otherwise as it is."""
    if configuration.library != "transformers" or configuration.model_type is None:
        return sample
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    known = CONFIG_MAPPING[configuration.model_type]().to_dict()
    depths = {name: depth for name, depth in _DEPTHS.items() if isinstance(known.get(name), int)}
    candidate = replace(sample, arguments=sample.arguments | depths)
    try:
        build(configuration, candidate, "meta")
    except NnirpError:
        return sample
    return candidate


def cached_graph(configuration: SourceConfiguration, sample: Sample, cache: Path) -> bytes:
    """The weight-free graph of a sample, exported once and kept in `cache` under what decides it."""
    path = cache / f"{_key(configuration, sample)}.onnx"
    if not path.is_file():
        built = build(configuration, sample, "meta")
        _write(path, export_graph(built.module, built.inputs).SerializeToString(deterministic=True))
    return path.read_bytes()


def cached_user_export(configuration: SourceConfiguration, sample: Sample, cache: Path) -> bytes:
    """What a user gets: the model with its weights through `torch.onnx.export` as it is by default, kept likewise.

    Weights beyond `KEPT_BYTES` lose their content after the export, which only keeps the files small.
    """
    path = cache / f"{_key(configuration, sample)}-user.onnx"
    if not path.is_file():
        built = build(configuration, sample, "cpu")
        with contextlib.redirect_stdout(io.StringIO()):
            program = torch.onnx.export(built.module, (), kwargs=dict(built.inputs), dynamo=True, verbose=False)
        model = program.model_proto
        for tensor in model.graph.initializer:
            if len(tensor.raw_data) > KEPT_BYTES:
                tensor.ClearField("raw_data")
                tensor.data_location = onnx.TensorProto.EXTERNAL
                tensor.external_data.add(key="location", value="weights")
        _write(path, model.SerializeToString())
    return path.read_bytes()


def _key(configuration: SourceConfiguration, sample: Sample) -> str:
    content = json.dumps([asdict(replace(configuration, samples=())), asdict(sample), environment()], sort_keys=True)
    return f"{configuration.id}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_bytes(content)
    draft.replace(path)
