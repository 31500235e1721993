"""`nnirp predict`: ask about one model."""

from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import project_of, read_manifest
from nnirp.commands.output import emit_json, emit_table
from nnirp.errors import InputError


def register(app: typer.Typer) -> None:
    app.command()(predict)


def predict(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="An ONNX file, with or without its weights.")],
    batch: Annotated[
        str | None, typer.Option(help="Batch sizes, such as 1,8,32, for a model whose batch is symbolic.")
    ] = None,
    dim: Annotated[
        list[str] | None, typer.Option(help="NAME=SIZE for any other symbolic dimension; repeat it.")
    ] = None,
    predictor: Annotated[str, typer.Option(help="A trained predictor.")] = "additive_roofline",
    protocol: Annotated[str, typer.Option(help="The split its weights were trained on.")] = "cluster",
    root: Annotated[Path | None, typer.Option(help="A dataset root with models; the project's own by default.")] = None,
    top_operators: Annotated[int, typer.Option(min=0, help="Name the most expensive operators.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Predict runtime and memory of a model without running it."""
    from nnirp.prediction.kept import find_weights

    sizes, dimensions = parse_batches(batch), parse_dimensions(dim or [])
    if not model.is_file():
        raise InputError(f"{model}: no such file; expected an ONNX file, with or without its weights")
    project = project_of(context, root)
    weights = find_weights(project.models, predictor, protocol)
    dataset = read_manifest(project, "dataset.json")
    # What takes seconds to import comes after everything that can be refused at once.
    from nnirp.prediction.predict import LABELS, predict_onnx

    answers = [
        predict_onnx(
            model, weights=weights, dataset=dataset, batch=size, dimensions=dimensions, top_operators=top_operators
        )
        for size in sizes
    ]
    if json:
        emit_json([answer.as_dict() for answer in answers])
        return
    rows = [
        (answer.batch, LABELS[e.target], f"{e.value:.4g} {e.unit}", f"{e.low:.4g} to {e.high:.4g} {e.unit}")
        for answer in answers
        for e in answer.estimates
    ]
    first = answers[0]
    emit_table(
        f"{first.model}: {first.nodes} operators, {first.gflops:.3g} GFLOPs",
        ("batch", "target", "prediction", "90 % interval"),
        rows,
    )
    for answer in answers:
        if answer.operators:
            rows = [
                (o.operator, o.position, f"{o.milliseconds:.3g} ms", f"{100 * o.share:.1f} %") for o in answer.operators
            ]
            emit_table(f"batch {answer.batch}: most expensive operators", ("operator", "node", "time", "share"), rows)
        for kind in ("operators", "bigrams", "sizes"):
            for what in getattr(answer.novelty, kind)[:5]:
                typer.echo(f"unlike the training pool ({kind}): {what}")
        for warning in answer.warnings:
            typer.echo(f"warning: {warning}", err=True)
    basis = first.rests_on
    typer.echo(
        f"rests on {basis['predictor']} trained on {basis['samples']} samples ({basis['protocol']} split, dataset {basis['dataset_revision']}) of {basis['device']}"
    )


def parse_batches(text: str | None) -> list[int | None]:
    """`1,8,32` as numbers; `None` stands for the batch that the file fixes.

    Raises:
        InputError: not a list of positive whole numbers.
    """
    if text is None:
        return [None]
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise InputError(f"--batch {text!r} is not a list of positive whole numbers; for example --batch 1,8,32")
    return [int(part) for part in parts]


def parse_dimensions(pairs: list[str]) -> dict[str, int]:
    """`NAME=SIZE` pairs as a dictionary.

    Raises:
        InputError: not of this form.
    """
    found = {}
    for pair in pairs:
        name, _, size = pair.partition("=")
        if not name or not size.isdecimal() or int(size) < 1:
            raise InputError(
                f"--dim {pair!r} is not NAME=SIZE with a positive whole size; for example --dim sequence=128"
            )
        found[name] = int(size)
    return found
