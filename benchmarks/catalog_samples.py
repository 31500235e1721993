"""One small sample a source configuration, with its weight-free graph: what the agreement benchmarks run over."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from nnirp.catalog import Sample, SourceConfiguration, build, load_catalog
from nnirp.errors import NnirpError

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
    from nnirp.graphs.export import environment, export_graph

    content = json.dumps([asdict(replace(configuration, samples=())), asdict(sample), environment()], sort_keys=True)
    path = cache / f"{configuration.id}-{hashlib.sha256(content.encode()).hexdigest()[:16]}.onnx"
    if not path.is_file():
        built = build(configuration, sample, "meta")
        cache.mkdir(parents=True, exist_ok=True)
        path.write_bytes(export_graph(built.module, built.inputs).SerializeToString(deterministic=True))
    return path.read_bytes()
