"""`nnirp predict`: ask about one model."""

from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import project_of
from nnirp.commands.output import emit_json, emit_table
from nnirp.errors import InputError

Model = Annotated[
    str,
    typer.Argument(
        help="An ONNX, Keras or TFLite file, a SavedModel, a Paddle model, a folder with config.json, timm:NAME or hf:TYPE."
    ),
]
Batch = Annotated[str | None, typer.Option(help="Batch sizes, such as 1,8,32; a file must leave its batch open.")]
Dim = Annotated[list[str] | None, typer.Option(help="NAME=SIZE for any other symbolic dimension; repeat it.")]
Size = Annotated[
    int | None, typer.Option(min=1, help="Pixels a side, tokens or samples of a model built from its name.")
]
Mode = Annotated[str | None, typer.Option(help="forward, prefill or decode, of a model built from its name.")]


def register(app: typer.Typer) -> None:
    app.command()(predict)


def predict(
    context: typer.Context,
    model: Model,
    batch: Batch = None,
    dim: Dim = None,
    size: Size = None,
    mode: Mode = None,
    device: Annotated[str | None, typer.Option(help="Refuse a predictor of another device.")] = None,
    runtime: Annotated[str | None, typer.Option(help="Refuse a predictor of another runtime, such as eager.")] = None,
    predictor: Annotated[str, typer.Option(help="A trained predictor.")] = "additive_roofline",
    protocol: Annotated[str, typer.Option(help="The split its weights were trained on.")] = "cluster",
    root: Annotated[Path | None, typer.Option(help="A dataset root with models; the project's own by default.")] = None,
    top_operators: Annotated[int, typer.Option(min=0, help="Name the most expensive operators.")] = 0,
    charts: Annotated[
        Path | None, typer.Option(help="A folder for SVG charts: time against batch, operators by share.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Predict runtime, memory and energy of a model without running it."""
    from nnirp.prediction.kept import find_kept

    asked = asked_for(batch, dim, size, mode)
    project = project_of(context, root)
    kept = find_kept(project.models, project.manifests, predictor, protocol, device=device, runtime=runtime)
    # What takes seconds to import comes after everything that can be refused at once.
    from nnirp.prediction.asking import ask

    answers = ask(model, asked, kept, top_operators=max(top_operators, 12 if charts else 0))
    if charts:
        from nnirp.prediction.charts import write_charts

        for path in write_charts(answers, charts):
            typer.echo(f"wrote {path}", err=True)
    if json:
        emit_json([answer.as_dict() for answer in answers])
    else:
        show(answers, top_operators)


def show(answers, top_operators: int) -> None:
    """Answers as tables; last what they rest on."""
    from nnirp.prediction.answer import LABELS

    rows = [
        (answer.batch, LABELS[e.target], f"{e.value:.4g} {e.unit}", f"{e.low:.4g} to {e.high:.4g} {e.unit}")
        for answer in answers
        for e in answer.estimates
    ]
    first = answers[0]
    title = f"{first.model}: {first.nodes} operators, {first.gflops:.3g} GFLOPs, {first.weights_mb:.3g} MB of weights"
    emit_table(title, ("batch", "target", "prediction", "90 % interval"), rows)
    for answer in answers:
        if answer.operators and top_operators:
            rows = [
                (o.operator, o.position, f"{o.milliseconds:.3g} ms", f"{100 * o.share:.1f} %", _bound(o))
                for o in answer.operators[:top_operators]
            ]
            columns = ("operator", "node", "time", "share", "bound by (part of its time)")
            emit_table(f"batch {answer.batch}: most expensive operators", columns, rows)
        for kind in ("operators", "bigrams", "sizes"):
            found = getattr(answer.novelty, kind)
            for what in found[:5]:
                typer.echo(f"unlike the training pool ({kind}): {what}")
            if len(found) > 5:
                typer.echo(f"unlike the training pool ({kind}): {len(found) - 5} more")
        for warning in answer.warnings:
            typer.echo(f"warning: {warning}", err=True)
    if any(answer.novel for answer in answers):
        typer.echo("the interval's 90 % holds for models like the training pool's; this one is not")
    basis = first.rests_on
    runtime = f", {basis['runtime']}" if basis.get("runtime") else ""
    typer.echo(
        f"rests on {basis['predictor']} trained {str(basis['trained'])[:10]} on {basis['samples']} samples "
        f"({basis['protocol']} split, dataset {basis['dataset_revision']}) of {basis['device']}{runtime}"
    )


def _bound(operator) -> str:
    return "–" if operator.bound is None else f"{operator.bound} ({100 * operator.roofline:.0f} %)"


def asked_for(batch: str | None, dim: list[str] | None, size: int | None, mode: str | None) -> list:
    """What the options ask for, one a batch size.

    Raises:
        InputError: an option is not what it should be.
    """
    from nnirp.graphs.frontends.reading import Asked

    if mode not in (None, "forward", "prefill", "decode"):
        raise InputError(f"--mode {mode!r}: expected forward, prefill or decode")
    dimensions = parse_dimensions(dim or [])
    return [Asked(None, one, size, mode, dimensions) for one in parse_batches(batch)]


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
