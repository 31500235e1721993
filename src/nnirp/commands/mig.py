"""`nnirp mig`: where a model fits on a GPU that is split into instances."""

from pathlib import Path
from typing import Annotated

import typer

from nnirp.commands.data import project_of
from nnirp.commands.output import emit_json, emit_table
from nnirp.commands.predict import Batch, Dim, Mode, Size, asked_for
from nnirp.errors import InputError, NotPulledError


def register(app: typer.Typer) -> None:
    app.command()(mig)


def mig(
    context: typer.Context,
    model: Annotated[str | None, typer.Argument(help="What `nnirp predict` takes.")] = None,
    gpu: Annotated[str | None, typer.Option(help="A card, such as A100-40GB; every known one by default.")] = None,
    max_latency_ms: Annotated[float | None, typer.Option(help="The longest that one inference may take.")] = None,
    memory_mb: Annotated[float | None, typer.Option(help="Instead of a model: what it needs, in MB of 2^20.")] = None,
    batch: Batch = None,
    dim: Dim = None,
    size: Size = None,
    mode: Mode = None,
    precision: Annotated[
        str | None, typer.Option(help="Of the arithmetic: fp32, tf32 or half; by default the file's.")
    ] = None,
    context_mb: Annotated[
        float | None, typer.Option(min=0, help="Memory of a process before any model; 450 MB by default.")
    ] = None,
    predictor: Annotated[str, typer.Option(help="A predictor that was trained on this card.")] = "additive_roofline",
    protocol: Annotated[str, typer.Option(help="The split its weights were trained on.")] = "cluster",
    root: Annotated[Path | None, typer.Option(help="A dataset root with models.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """Say which Multi-Instance-GPU profile holds a model, how many such instances a card has, and why."""
    from nnirp.prediction.analytic import CONTEXT_MB
    from nnirp.prediction.mig.advice import advise, advise_memory
    from nnirp.prediction.mig.table import GPUS, find_gpu

    context_mb = CONTEXT_MB if context_mb is None else context_mb
    cards = [find_gpu(gpu)] if gpu else list(GPUS.values())
    if (model is None) == (memory_mb is None):
        raise InputError("name a model or give --memory-mb, one of both; for example nnirp mig model.onnx")
    if precision not in (None, "fp32", "tf32", "half"):
        raise InputError(f"--precision {precision!r}: expected fp32, tf32 or half")
    if memory_mb is not None:
        if max_latency_ms is not None:
            raise InputError("--max-latency-ms needs a model: from its memory alone no latency follows")
        show([advise_memory(card, memory_mb, context_mb=context_mb) for card in cards], json)
        return
    from nnirp.prediction.asking import readings
    from nnirp.prediction.encoding import encode_model

    kept = {card.name: kept_of(context, root, card, predictor, protocol) for card in cards}
    answers = []
    for read, one in readings(model, asked_for(batch, dim, size, mode)):
        encoded = encode_model(read, batch=one.batch, dimensions=one.dimensions)
        for warning in encoded.warnings:
            typer.echo(f"warning: {warning}", err=True)
        for card in cards:
            advice = advise(
                read.name,
                encoded,
                card,
                max_latency_ms=max_latency_ms,
                measured=measured_on(card, kept[card.name], read.name, encoded),
                precision=precision,
                context_mb=context_mb,
            )
            answers.append(advice)
    show(answers, json)


def kept_of(context, root, card, predictor, protocol):
    """A predictor that learned on this card; None where there is none."""
    from nnirp.prediction.kept import find_kept
    from nnirp.prediction.mig.table import card_of

    try:
        project = project_of(context, root)
        kept = find_kept(project.models, project.manifests, predictor, protocol)
    except NotPulledError:
        return None
    return kept if card_of(kept.rests_on["device"]) == card else None


def measured_on(card, kept, name, encoded):
    """What that predictor says of a model."""
    if kept is None:
        return None
    from nnirp.prediction.mig.advice import gpu_prediction
    from nnirp.prediction.predict import predict_encoded

    return gpu_prediction(predict_encoded(name, encoded, kept), card)


def show(answers, json: bool) -> None:
    """One card as a table of its profiles, several as a table of their best ones; the basis comes first."""
    if json:
        emit_json([answer.as_dict() for answer in answers])
        return
    for basis in dict.fromkeys(answer.basis for answer in answers):
        typer.echo(basis)
    if len({answer.gpu for answer in answers}) > 1:
        columns = ("GPU", "batch", "profile", "latency", "inputs/s", "why")
        rows = [
            (a.gpu, a.batch, a.best or "–", _ms(a.rows[0]), _rate(a.rows[0]), a.rows[0].reason if a.best else a.summary)
            for a in answers
        ]
        emit_table(f"{answers[0].model}: the best profile of each card", columns, rows)
        return
    for answer in answers:
        rows = [
            (row.profile, row.verdict, row.instances or "–", _ms(row), _rate(row), _why(row)) for row in answer.rows
        ]
        title = f"{answer.model} at batch {answer.batch} on {answer.gpu}: {answer.memory_mb:,.0f} MB + {answer.margin:.0%}, context {answer.context_mb:,.0f} MB"
        emit_table(title, ("profile", "verdict", "instances", "latency", "inputs/s", "why"), rows)
        typer.echo(answer.summary)


def _ms(row) -> str:
    return "–" if row.latency_ms is None else f"{row.latency_ms:.3g} ms"


def _rate(row) -> str:
    return "–" if row.per_second is None else f"{row.per_second:,.0f}"


def _why(row) -> str:
    return row.reason + (f" (INFERRED: {', '.join(row.inferred)})" if row.inferred else "")
