"""`hf:TYPE` and folders with a `config.json`: transformers architectures from their configuration alone, never from the hub."""

import json
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from nnirp.errors import InputError
from nnirp.graphs.frontends.reading import Asked, ReadModel, need

NO_FIELDS = {
    "model_type",
    "transformers_version",
    "torch_dtype",
    "dtype",
    "auto_map",  # code of somebody else: never run
    "quantization_config",
}
SIZES = {"attention_encoder": 128, "attention_decoder": 128, "convolutional": 224}


@dataclass(frozen=True)
class Recipe:
    """How a model type is built: a builder of the catalog, its own arguments, and the size that is asked for by default."""

    builder: str
    family: str
    arguments: dict[str, Any]
    size: int
    mode: str


def read_name(name: str, asked: Asked) -> ReadModel:
    """`hf:bert` is the library's default configuration of a type; a name of the catalog, such as `hf:google/vit-base-patch16-224`, its.

    Raises:
        InputError: the library has no such type, or nobody knows its inputs.
    """
    from nnirp.catalog import load_catalog

    known = next((c for c in load_catalog("full").configurations if c.name == name and c.model_type), None)
    if known is not None:
        recipe = recipe_of(known.model_type, asked)
        return _read(f"hf:{name}", known.model_type, known.arguments, recipe, asked)
    return _read(f"hf:{name}", name, {}, recipe_of(name, asked), asked)


def read_folder(folder: Path, asked: Asked) -> ReadModel:
    """A folder as `save_pretrained` writes it; only its `config.json` is read.

    Raises:
        InputError: the file is no configuration of a known type.
    """
    path = folder / "config.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        model_type = content["model_type"]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is no transformers configuration; expected JSON with a `model_type`") from None
    if not isinstance(model_type, str):
        raise InputError(f"{path}: model_type is {model_type!r}, expected a name such as bert")
    fields = {k: v for k, v in content.items() if k not in NO_FIELDS and not k.startswith("_")}
    return _read(folder.resolve().name, model_type, fields, recipe_of(model_type, asked), asked)


def recipe_of(model_type: str, asked: Asked) -> Recipe:
    """The catalog's builder of a type; for a type that it lacks, the builder of its class of models.

    Raises:
        InputError: the type is unknown, has another mode, or is of a class whose inputs are not known.
    """
    need("transformers", "models", f"a model of type {model_type!r}")
    from transformers.models.auto import modeling_auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    from nnirp.catalog import load_catalog

    if model_type not in CONFIG_MAPPING_NAMES:
        near = get_close_matches(model_type, CONFIG_MAPPING_NAMES, 3, 0.5)
        hint = f"; near are: {', '.join(near)}" if near else ""
        raise InputError(f"transformers has no model type {model_type!r}{hint}")
    members = [c for c in load_catalog("full").configurations if c.model_type == model_type]
    samples = [(c, s) for c in members for s in c.samples]
    modes = sorted({s.mode for _, s in samples}, key=("forward", "prefill", "decode").index)
    if samples:
        mode = asked.mode or modes[0]
        if mode not in modes:
            raise InputError(f"{model_type} has no mode {mode!r}; it has {', '.join(modes)}")
        chosen = next(c for c, s in samples if s.mode == mode)
        sizes = Counter(s.size for c, s in samples if c is chosen and s.mode == mode)
        own = {k: v for k, v in chosen.arguments.items() if k.startswith("_") or k == "attention"}
        return Recipe(chosen.builder, chosen.family, own, max(sizes, key=lambda s: (sizes[s], s)), mode)
    decoding = asked.mode if asked.mode in ("prefill", "decode") else "prefill"
    for names, builder, family, mode in (
        ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "causal_language_model", "attention_decoder", decoding),
        ("MODEL_FOR_MASKED_LM_MAPPING_NAMES", "text_encoder", "attention_encoder", "forward"),
        ("MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES", "convolutional_classifier", "convolutional", "forward"),
    ):
        if model_type in getattr(modeling_auto, names):
            return Recipe(builder, family, {}, SIZES[family], mode)
    raise InputError(
        f"the inputs of a {model_type!r} are not known; export it to ONNX, or give the module and its inputs to nnirp.predict"
    )


def _read(name: str, model_type: str, fields: dict[str, Any], recipe: Recipe, asked: Asked) -> ReadModel:
    from nnirp.graphs.frontends.built import build_graph

    pixels = fields.get("image_size")
    size = asked.size or (pixels if isinstance(pixels, int) else recipe.size)
    graph = build_graph(
        recipe.builder,
        recipe.family,
        recipe.arguments | fields | {"model_type": model_type},
        library="transformers",
        batch=asked.batch or 1,
        size=size,
        mode=recipe.mode,
        name=name,
    )
    return ReadModel(f"{name} ({recipe.mode}, size {size})", graph, "transformers")
