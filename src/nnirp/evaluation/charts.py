"""The figures of the comparison: deterministic SVG, readable on light and dark, safe for colour-blind readers.

Ink is one sentinel colour that the SVG turns into `currentColor`, so a page's text colour is the chart's. Series use the
palette of Okabe and Ito (2008) and differ in marker as well. Every chart shows the noise floor: nothing below it is skill.
"""

import hashlib
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from nnirp.evaluation.comparison import Comparison

INK = "#1b1b1d"
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8c8c8c", "#b8a800")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
POINTS = 2400
"""Most points drawn in one scatter; the rest is left out evenly, so that the page stays small."""

STYLE = {
    "svg.fonttype": "none",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "legend.frameon": False,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@contextmanager
def _style() -> Iterator[None]:
    with mpl.rc_context(STYLE):
        yield


def _figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **kwargs: object
) -> tuple[Figure, np.ndarray]:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **kwargs)


def _percent_axis(axis: Axes, which: str = "y") -> None:
    (axis.set_yscale if which == "y" else axis.set_xscale)("log")
    target = axis.yaxis if which == "y" else axis.xaxis
    target.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g} %"))
    target.set_minor_formatter(NullFormatter())


def _floor(axis: Axes, floor: float | None, horizontal: bool = True) -> None:
    if floor and floor > 0:
        line = axis.axhline if horizontal else axis.axvline
        line(floor, color=INK, linestyle="--", linewidth=1, label=f"noise floor {floor:.2g} %", zorder=1)


def _legend(figure: Figure, axis: Axes) -> None:
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)))


def _series(comparison: Comparison) -> list[tuple[str, str, str]]:
    return [(p, PALETTE[i % 8], MARKERS[(i + i // 8) % 8]) for i, p in enumerate(comparison.predictors)]


def heat_map(comparison: Comparison) -> Figure:
    """Protocol × predictor: the pooled error, colour on a log scale; the floor is a mark on the colour bar."""
    table = comparison.table
    with _style():
        figure, axes = _figure(2.6 + 0.95 * table.shape[1], 1.7 + 0.42 * table.shape[0])
        axis = axes[0, 0]
        values = table.to_numpy(dtype=np.float64)
        positive = values[np.isfinite(values) & (values > 0)]
        low, high = (positive.min(), positive.max()) if len(positive) else (1.0, 10.0)
        floor = comparison.noise_floor_percent
        low = min(low, floor) if floor and comparison.metric.endswith("ape_percent") else low
        norm = LogNorm(low, max(high, low * 1.01))
        image = axis.imshow(
            np.ma.masked_invalid(np.clip(values, low, None)), norm=norm, cmap="cividis_r", aspect="auto"
        )
        axis.set_xticks(range(table.shape[1]), comparison.predictors, rotation=30, ha="right")
        axis.set_yticks(range(table.shape[0]), comparison.protocols)
        axis.spines[:].set_visible(False)
        for i, j in np.ndindex(values.shape):
            if np.isfinite(values[i, j]):
                dark = float(norm(max(values[i, j], low))) > 0.5
                axis.text(j, i, f"{values[i, j]:.3g}", ha="center", va="center", color="#ffffff" if dark else "#000000")
        bar = figure.colorbar(image, ax=axis, format=FuncFormatter(lambda v, _: f"{v:g}"))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        bar.outline.set_visible(False)
        if floor and comparison.metric.endswith("ape_percent"):
            bar.ax.axhline(floor, color="#d55e00", linewidth=3)
            axis.set_xlabel(f"orange mark on the colour bar: noise floor {floor:.2g} %")
        axis.set_title(f"{comparison.metric} of {comparison.target}, test")
        return figure


def scatter(comparison: Comparison, protocol: str) -> Figure:
    """Predicted against measured, one panel a predictor, first seed; the band is the noise floor around equality."""
    samples = comparison.samples[comparison.samples["protocol"] == protocol]
    names = [p for p in comparison.predictors if p in set(samples["predictor"])]
    columns = min(4, max(1, len(names)))
    rows = -(-max(1, len(names)) // columns)
    share = max(1, POINTS // max(1, len(names)))
    with _style():
        figure, axes = _figure(2.4 * columns + 0.4, 2.4 * rows + 0.7, rows, columns, sharex=True, sharey=True)
        families = sorted(samples["family"].astype(str).unique())
        for k, axis in enumerate(axes.flat):
            if k >= len(names):
                axis.set_visible(False)
                continue
            mine = samples[samples["predictor"] == names[k]]
            mine = mine[mine["seed"] == mine["seed"].min()].sort_values(["sample", "fold"])
            mine = mine.iloc[:: max(1, -(-len(mine) // share))]
            ends = np.array([samples["y"].min(), samples["y"].max()])
            axis.plot(2**ends, 2**ends, color=INK, linewidth=1)
            if comparison.noise_floor_percent:
                f = comparison.noise_floor_percent / 100
                label = f"noise floor ± {comparison.noise_floor_percent:.2g} %"
                axis.fill_between(
                    2**ends, 2**ends * (1 - f), 2**ends * (1 + f), color=INK, alpha=0.18, lw=0, label=label
                )
            for i, family in enumerate(families):
                own = mine[mine["family"].astype(str) == family]
                style = {"color": PALETTE[i % 8], "marker": MARKERS[(i + i // 8) % 8]}
                axis.plot(2 ** own["y"], 2 ** own["mean"], linestyle="", markersize=4, mew=0, label=family, **style)
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_title(names[k])
        for axis in axes[-1]:
            axis.set_xlabel(f"measured {comparison.target}")
        for axis in axes[:, 0]:
            axis.set_ylabel(f"predicted {comparison.target}")
        _legend(figure, axes[0, 0])
        return figure


def family_bars(comparison: Comparison, protocol: str) -> Figure:
    """Error per family at one protocol, a bar a predictor, whiskers of one sd over seeds."""
    frame = comparison.families[comparison.families["protocol"] == protocol]
    families = sorted(frame["family"].unique())
    series = [s for s in _series(comparison) if s[0] in set(frame["predictor"])]
    with _style():
        figure, axes = _figure(min(12.0, 5.5 + 0.12 * len(families) * max(2, len(series))), 3.4)
        axis = axes[0, 0]
        width = 0.8 / max(1, len(series))
        for k, (name, colour, _) in enumerate(series):
            own = frame[frame["predictor"] == name].set_index("family").reindex(families)
            x = np.arange(len(families)) + (k - (len(series) - 1) / 2) * width
            error = np.nan_to_num(own["sd"].to_numpy(dtype=np.float64))
            axis.bar(x, own["mean"], width, color=colour, label=name, yerr=error if error.any() else None, ecolor=INK)
        if comparison.metric.endswith("ape_percent"):
            _percent_axis(axis)
            _floor(axis, comparison.noise_floor_percent)
        axis.set_xticks(range(len(families)), families, rotation=20, ha="right")
        axis.set_ylabel(comparison.metric)
        axis.set_title(f"error per family, {protocol} split")
        axis.grid(axis="y")
        _legend(figure, axis)
        return figure


def error_against_coverage(comparison: Comparison) -> Figure:
    """Error of each held-out cluster against the share of its bigrams known from training, all protocols but random."""
    frame = comparison.coverage[comparison.coverage["protocol"] != "random"]
    frame = frame if len(frame) else comparison.coverage
    frame = frame.sort_values(["predictor", "protocol", "fold", "cluster"])
    step = max(1, -(-len(frame) // POINTS))

    def draw(axis: Axes, own: pd.DataFrame, style: dict[str, str], name: str) -> None:
        own = own.iloc[::step]
        axis.plot(own["distinct"], own["error"], linestyle="", markersize=4, alpha=0.8, mew=0, label=name, **style)

    return _lines(comparison, frame, "distinct bigram coverage of the held-out cluster", "error against coverage", draw)


def error_against_size(comparison: Comparison, protocol: str) -> Figure:
    """Error in fifths of the test graphs ordered by FLOPs at one protocol."""
    frame = comparison.sizes[comparison.sizes["protocol"] == protocol]

    def draw(axis: Axes, own: pd.DataFrame, style: dict[str, str], name: str) -> None:
        axis.plot(own["flops_log2"], own["error"], linewidth=1.3, markersize=5, label=name, **style)

    return _lines(comparison, frame, "median log2 FLOPs of the graphs", f"error against size, {protocol} split", draw)


def _lines(
    comparison: Comparison,
    frame: pd.DataFrame,
    label: str,
    title: str,
    draw: Callable[[Axes, pd.DataFrame, dict[str, str], str], None],
) -> Figure:
    with _style():
        figure, axes = _figure(6.2, 3.6)
        axis = axes[0, 0]
        for name, colour, marker in _series(comparison):
            own = frame[frame["predictor"] == name]
            if len(own):
                draw(axis, own, {"color": colour, "marker": marker}, name)
        _percent_axis(axis)
        _floor(axis, comparison.noise_floor_percent)
        axis.set_xlabel(label)
        axis.set_ylabel("mean absolute percentage error")
        axis.set_title(title)
        axis.grid()
        _legend(figure, axis)
        return figure


def _makers(comparison: Comparison) -> dict[str, Callable[[], Figure]]:
    """By name, what draws each figure; the hardest of the ordered protocols is shown in detail."""
    ordered = ("family", "subfamily", "cluster")
    hardest = next((p for p in ordered if p in comparison.protocols), comparison.protocols[-1])
    makers: dict[str, Callable[[], Figure]] = {"heat-map": partial(heat_map, comparison)}
    for protocol in dict.fromkeys([p for p in ("random", hardest) if p in comparison.protocols]):
        makers[f"scatter-{protocol}"] = partial(scatter, comparison, protocol)
    makers[f"families-{hardest}"] = partial(family_bars, comparison, hardest)
    if len(comparison.coverage):
        makers["coverage"] = partial(error_against_coverage, comparison)
    if len(comparison.sizes):
        shown = "size" if "size" in comparison.protocols else hardest
        makers[f"size-{shown}"] = partial(error_against_size, comparison, shown)
    return makers


def figure_names(comparison: Comparison) -> list[str]:
    """Names of `figures`, without drawing them."""
    return list(_makers(comparison))


def figures(comparison: Comparison) -> dict[str, Figure]:
    """Every figure of the comparison, by a name fit for a file."""
    return {name: make() for name, make in _makers(comparison).items()}


def to_svg(figure: Figure, name: str = "chart") -> str:
    """The figure as an `<svg>` element: no date, fixed ids, text as text, ink in `currentColor`."""
    buffer = io.StringIO()
    with _style(), mpl.rc_context({"svg.hashsalt": f"nnirp-{name}"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # Ids of groups (axes_1, patch_3) are never referred to, and would clash between two charts of one page.
    text = re.sub(r' id="[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*_\d+"', "", text)
    prefix = "c" + hashlib.sha256(name.encode()).hexdigest()[:6]
    text = re.sub(r'id="([A-Za-z][\w-]*)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", text)
    return re.sub(r"[ \t]+\n", "\n", text)


def svgs(comparison: Comparison) -> dict[str, str]:
    """Every figure as SVG, by the name of `figures`."""
    return {name: to_svg(figure, f"{comparison.target}-{name}") for name, figure in figures(comparison).items()}
