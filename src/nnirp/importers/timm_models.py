"""timm's models by the names that its result tables use: what family each belongs to, and how it is built."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from nnirp.errors import InputError, MissingDependencyError

# Modules of timm (a file an architecture) by the family of this project's taxonomy. A network counts as attention encoder where its
# published form mixes positions by attention, a linear or state-space form of it, or (mlp_mixer) a matrix in its place.
MODULES = {
    "convolutional": """
        byobnet convmixer convnext cspnet cspnext densenet dla dpn efficientnet fasternet focalnet ghostnet hardcorenas hgnet hrnet
        inception_next inception_resnet_v2 inception_v3 inception_v4 lcnetv2 mambaout mobilenetv3 nasnet nfnet pnasnet rdnet
        regnet repghost repvit res2net resnest resnet resnetv2 rexnet selecsls senet sknet starnet tresnet vgg vovnet xception
        xception_aligned""",
    "attention_encoder": """
        beit byoanet cait coat convit cpubone crossvit csatv2 davit deepseek_vit deit edgenext efficientformer efficientformer_v2
        efficientvim efficientvit_mit efficientvit_msra eva fastvit gcvit gemma4_vit hiera hieradet_sam2 iformer levit lowformer
        maxxvit metaformer mlp_mixer mobilenetv5 mobilevit mvitv2 naflexvit nest nextvit pit pvt_v2 qwen3_vit shvit swiftformer
        swin_transformer swin_transformer_v2 swin_transformer_v2_cr tiny_vit tnt twins visformer vision_transformer
        vision_transformer_hybrid vision_transformer_relpos vision_transformer_sam vitamin volo xcit""",
    "recurrent": "sequencer",
}


@dataclass(frozen=True)
class TimmModel:
    """A name of timm: `architecture` without and `name` with its tag, the module that defines it, and the family of that."""

    name: str
    architecture: str
    module: str
    family: str


@cache
def family_of() -> dict[str, str]:
    """{module of timm: family}."""
    return {module: family for family, names in MODULES.items() for module in names.split()}


def find(name: str) -> TimmModel:
    """A model by its name, with or without a tag.

    Raises:
        InputError: the installed timm has no such model, or its module is in no family.
        MissingDependencyError: timm is not installed.
    """
    registry = _registry()
    architecture = name.split(".", 1)[0]
    if not registry.is_model(architecture):
        raise InputError(f"timm {_timm().__version__} has no model {architecture!r}")
    module = registry.model_entrypoint(architecture).__module__.rsplit(".", 1)[-1]
    if module not in family_of():
        raise InputError(f"{architecture!r} is of timm's module {module!r}, which is in no family of the taxonomy")
    return TimmModel(name, architecture, module, family_of()[module])


def is_timm(name: str) -> bool:
    """Whether the installed timm has a model of this name."""
    try:
        return _registry().is_model(name.split(".", 1)[0])
    except MissingDependencyError:
        return False


def default_size(name: str) -> int:
    """Pixels a side that a model is made for.

    Raises:
        InputError: its images are not square.
    """
    configuration = _timm().get_pretrained_cfg(name, allow_unregistered=True)
    _, height, width = configuration.input_size if configuration else (3, 224, 224)
    if height != width:
        raise InputError(f"{name} is made for images of {height} × {width}; only square ones are built")
    return width


def arguments(name: str, size: int) -> dict[str, Any]:
    """What `timm.create_model` needs for images of this size: a network whose sizes are fixed when it is built is told them."""
    configuration = _timm().get_pretrained_cfg(name, allow_unregistered=True)
    fixed = configuration is not None and configuration.fixed_input_size and configuration.input_size[-1] != size
    return {"architecture": name, **({"img_size": size} if fixed else {})}


@contextmanager
def spelled_out_attention() -> Iterator[None]:
    """Models that are built inside compute attention by two products and a softmax instead of one fused call."""
    layers = _timm().layers
    before = layers.use_fused_attn()
    layers.set_fused_attn(False)
    try:
        yield
    finally:
        layers.set_fused_attn(before)


def _timm() -> Any:
    try:
        import timm
    except ModuleNotFoundError:
        raise MissingDependencyError("models of timm need timm; `pip install 'nnirp[models]'`") from None
    return timm


def _registry() -> Any:
    return _timm().models
