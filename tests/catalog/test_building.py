from dataclasses import replace

import pytest
import torch

from nnirp.catalog import BuilderError, build, load_catalog
from nnirp.catalog.building import _SkipRandomInitialisers
from nnirp.errors import InputError

CONFIGURATIONS = load_catalog("full").configurations


def smallest(configuration, precision="fp32"):
    """The smallest sample of a precision, or of any where the configuration has none of it."""
    samples = [s for s in configuration.samples if s.precision == precision] or configuration.samples
    return min(samples, key=lambda s: s.batch * s.size)


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda c: c.name)
def test_builds_on_meta_without_allocating(configuration):
    built = build(configuration, smallest(configuration), "meta")
    assert not built.module.training
    assert all(p.is_meta and not p.requires_grad for p in built.module.parameters())
    assert built.inputs and all(value.is_meta for value in built.inputs.values())


@pytest.mark.parametrize("name", ["lstm-parametric", "residual-parametric", "bert-parametric"])
def test_runs_with_finite_output(name):
    configuration = next(c for c in CONFIGURATIONS if c.name == name)
    built = build(configuration, smallest(configuration))
    with torch.inference_mode():
        output = built.module(**built.inputs)
    assert torch.isfinite(output).all() and output.std() > 1e-3


def test_same_sample_is_built_with_the_same_weights():
    configuration = next(c for c in CONFIGURATIONS if c.name == "lstm-parametric")
    first, second = (build(configuration, smallest(configuration)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first.module.parameters(), second.module.parameters(), strict=True))


def test_skipped_initialisers_end_whatever_the_memory_holds():
    tensor = torch.full((4,), 100.0)
    with _SkipRandomInitialisers():
        torch.nn.init.trunc_normal_(tensor, std=0.02)
        torch.nn.init.normal_(tensor)
    assert (tensor == 100.0).all()
    torch.nn.init.trunc_normal_(tensor)
    assert (tensor.abs() <= 2.0).all()


def test_bf16_casts_module_and_floating_inputs_only():
    configuration = next(c for c in CONFIGURATIONS if c.name == "google-bert/bert-base-uncased")
    built = build(configuration, smallest(configuration, "bf16"), "meta")
    assert {p.dtype for p in built.module.parameters()} == {torch.bfloat16}
    assert {v.dtype for v in built.inputs.values()} == {torch.int64}


def test_failure_names_builder_and_library_version():
    configuration = next(c for c in CONFIGURATIONS if c.name == "resnet18")
    broken = replace(configuration, arguments={"architecture": "no_such_network"})
    with pytest.raises(BuilderError, match=r"timm_classifier.* timm \d"):
        build(broken, configuration.samples[0], "meta")


def test_unknown_builder_is_refused():
    configuration = replace(CONFIGURATIONS[0], builder="nothing")
    with pytest.raises(InputError, match="not a builder"):
        build(configuration, configuration.samples[0], "meta")
