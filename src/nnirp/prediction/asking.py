"""`nnirp.predict`: any model in, an answer out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nnirp.graphs.frontends.reading import Asked, ReadModel, read_model
from nnirp.prediction.answer import Answer
from nnirp.prediction.encoding import encode_model
from nnirp.prediction.kept import Kept, find_kept
from nnirp.prediction.predict import predict_encoded


def predict(
    model: Any,
    *,
    inputs: Any = None,
    batch: int | Sequence[int] | None = None,
    device: str | None = None,
    runtime: str | None = None,
    size: int | None = None,
    mode: str | None = None,
    dimensions: Mapping[str, int] | None = None,
    predictor: str = "additive_roofline",
    protocol: str = "cluster",
    root: str | Path | None = None,
    top_operators: int = 10,
) -> Answer | list[Answer]:
    """Predict runtime, memory and energy of a model without running it.

    Args:
        model: a path (ONNX, Keras, TFLite, SavedModel, Paddle, a folder with a `config.json`), `timm:NAME`, `hf:TYPE`, the bytes of an
            ONNX file, an `onnx.ModelProto`, a `torch.nn.Module`, a Keras model or a function that JAX can trace.
        inputs: example inputs of a module or function; only their shapes and types matter.
        batch: one size or several; several give a list of answers.
        device, runtime: what the predictor must have been trained on.
        size: pixels a side, tokens, samples or steps of a model that is built from its name.
        mode: forward, prefill or decode, for a model that is built from its name.
        dimensions: sizes of named dimensions of a file.
        predictor, protocol: which of the trained predictors.
        root: a dataset root with models; by default the project around the current folder.
        top_operators: how many of the most expensive operators to name.

    Raises:
        InputError: the model cannot be read, or a dimension is left open.
        NotPulledError: there is no trained predictor.

    Example:
        >>> nnirp.predict(torchvision.models.resnet18(), inputs=torch.empty(1, 3, 224, 224)).estimates[0].value
    """
    from nnirp.project import Project, find_project

    project = Project(Path(root), Path(root).resolve()) if root else find_project()
    kept = find_kept(project.models, project.manifests, predictor, protocol, device=device, runtime=runtime)
    sizes = list(batch) if isinstance(batch, Sequence) else [batch]
    asked = [Asked(inputs, b, size, mode, dimensions or {}) for b in sizes]
    answers = ask(model, asked, kept, top_operators=top_operators)
    return answers if isinstance(batch, Sequence) else answers[0]


def ask(model: Any, asked: Sequence[Asked], kept: Kept, *, top_operators: int = 0) -> list[Answer]:
    """One answer for each way a model is asked about; a file is read once."""
    answers = []
    for read, one in readings(model, asked):
        encoded = encode_model(read, batch=one.batch, dimensions=one.dimensions, form=kept.form)
        answers.append(predict_encoded(read.name, encoded, kept, top_operators=top_operators))
    return answers


def readings(model: Any, asked: Sequence[Asked]) -> list[tuple[ReadModel, Asked]]:
    """The model read for each way it is asked about, once where it does not depend on it."""
    first = read_model(model, asked[0])
    if first.kind == "onnx":
        return [(first, one) for one in asked]
    return [(first, asked[0]), *((read_model(model, one), one) for one in asked[1:])]
