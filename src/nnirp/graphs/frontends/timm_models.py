"""`timm:NAME`: an image architecture of timm by its name, without downloading its weights."""

from difflib import get_close_matches

from nnirp.errors import InputError
from nnirp.graphs.frontends.reading import Asked, ReadModel, need


def read_name(name: str, asked: Asked) -> ReadModel:
    """Build and export; `size` is by default the architecture's own.

    Raises:
        InputError: timm has no such model.
    """
    (timm,) = need("timm", "models", f"timm:{name}")
    if not timm.is_model(name.partition(".")[0]):
        near = get_close_matches(name, timm.list_models(), 3, 0.5)
        raise InputError(f"timm has no model {name!r}" + (f"; near are: {', '.join(near)}" if near else ""))
    from nnirp.graphs.frontends.built import build_graph

    own = timm.get_pretrained_cfg(name)
    size = asked.size or (own.input_size[-1] if own is not None else 224)
    graph = build_graph(
        "timm_classifier",
        "convolutional",
        {"architecture": name},
        library="timm",
        batch=asked.batch or 1,
        size=size,
        mode="forward",
        name=f"timm:{name}",
    )
    return ReadModel(f"timm:{name}", graph, "timm")
