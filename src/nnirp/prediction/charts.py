"""Charts of answers as SVG: predicted time against batch with its interval, and operators by their share."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from nnirp.prediction.answer import Answer

COLOURS = {"arithmetic": "#0072b2", "memory": "#e69f00", "overhead": "#8c8c8c", None: "#56b4e9"}


def write_charts(answers: Sequence[Answer], folder: Path) -> list[Path]:
    """Write `time-by-batch.svg` where there are several batches, and `operators-<batch>.svg` for each with known operators."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    if len(answers) > 1:
        written.append(_saved(_time_by_batch(answers), folder / "time-by-batch.svg"))
    for answer in answers:
        if answer.operators:
            written.append(_saved(_operators(answer), folder / f"operators-{answer.batch}.svg"))
    return written


def _time_by_batch(answers: Sequence[Answer]) -> Figure:
    points = sorted((a.batch, e) for a in answers for e in a.estimates if e.target == "runtime_ms")
    batches, estimates = zip(*points, strict=True)
    figure, axis = _figure(6.4, 4.0)
    axis.fill_between(
        batches, [e.low for e in estimates], [e.high for e in estimates], alpha=0.2, label="90 % interval"
    )
    axis.plot(batches, [e.value for e in estimates], marker="o", label="predicted")
    axis.set(xscale="log", yscale="log", xlabel="batch", ylabel="runtime (ms)", title=answers[0].model)
    axis.set_xticks(batches, [str(b) for b in batches])
    axis.minorticks_off()
    axis.legend(frameon=False)
    return figure


def _operators(answer: Answer) -> Figure:
    shown = answer.operators[:12][::-1]
    figure, axis = _figure(6.4, 0.6 + 0.3 * len(shown))
    names = [f"{o.operator} (node {o.position})" for o in shown]
    axis.barh(names, [100 * o.share for o in shown], color=[COLOURS[o.bound] for o in shown])
    for place, operator in enumerate(shown):
        axis.text(100 * operator.share, place, f" {operator.milliseconds:.3g} ms, {operator.bound or ''}", va="center")
    axis.set(xlabel="share of the predicted runtime (%)", title=f"{answer.model}, batch {answer.batch}")
    axis.margins(x=0.35)
    return figure


def _figure(width: float, height: float):
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    axis.spines[["top", "right"]].set_visible(False)
    return figure, axis


def _saved(figure: Figure, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None})
    return path
