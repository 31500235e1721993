"""The figures of the benchmark: scaling beside speed-up over the batch, the best compiler a model and batch, gains over depth."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from nnirp.compilers.configuration import BASELINE, NAMES
from nnirp.evaluation.charts import INK, MARKERS, PALETTE, STYLE, to_svg

PANELS = 5
"""Most models in one figure of lines."""
SLOW = 0.2
"""A compiler that never reaches this speed-up is named in the legend and not drawn: the others would lie on one line."""
TICKS = (0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 4, 6, 8, 12, 16, 32, 64)
LIGHT = {"#e69f00", "#56b4e9", "#b8a800", "#cc79a7"}
"""Colours of the palette that dark letters are read on."""


def look(compiler: str) -> tuple[str, str]:
    """Colour and marker of a compiler: the same in every figure."""
    position = NAMES.index(compiler) if compiler in NAMES else len(NAMES)
    return PALETTE[position % len(PALETTE)], MARKERS[position % len(MARKERS)]


def scaling(metrics: pd.DataFrame, experiment: str) -> Figure:
    """Scaling efficiency above and speed-up below over the batch, a column a model: a compiler that speeds up batch 1 lowers its
    own efficiency, so neither is shown alone."""
    lines = metrics[metrics["experiment"] == experiment]
    models = _spread(list(dict.fromkeys(lines["model"])), PANELS)
    with mpl.rc_context(STYLE):
        figure, axes = _figure(1.4 + 1.75 * len(models), 4.6, 2, len(models), sharex=True, sharey="row")
        for column, model in enumerate(models):
            own = lines[lines["model"] == model]
            for axis, name in zip(axes[:, column], ("ase", "speed_up"), strict=True):
                _lines(axis, own, name)
                axis.axhline(1, color=INK, linewidth=0.8, alpha=0.5)
                axis.grid(axis="y")
            axes[0, column].set_title(model.split("_patch")[0], fontsize=8)
            axes[1, column].set_xlabel("batch")
        axes[0, 0].set_ylabel("scaling efficiency ASE")
        axes[1, 0].set_ylabel(f"speed-up over {BASELINE}")
        for axis in axes[1]:
            _speed_axis(axis)
        _legend(figure, axes.flat)
        return figure


def best_compiler(best: pd.DataFrame, device: str) -> Figure:
    """Model × batch: the fastest compiler by colour and its speed-up; a star where its interval is clear of the next one's."""
    own = best[best["device"] == device]
    names = own["experiment"] + " " + own["model"].str.split("_patch").str[0]
    own = own.assign(name=names)
    models, batches = list(dict.fromkeys(own["name"])), sorted(own["batch"].unique())
    compilers = [name for name in NAMES if name in set(own["best"])]
    compilers += sorted(set(own["best"]) - set(NAMES))
    grid = np.full((len(models), len(batches)), np.nan)
    with mpl.rc_context(STYLE):
        figure, axes = _figure(3.4 + 0.62 * len(batches), 1.2 + 0.24 * len(models))
        axis = axes[0, 0]
        for row in own.itertuples():
            x, y = batches.index(row.batch), models.index(row.name)
            grid[y, x] = compilers.index(row.best)
            colour = look(row.best)[0]
            text = ("" if np.isnan(row.speed_up) else f"{row.speed_up:.2g}×") + ("*" if row.clear is True else "")
            ink = "#1a1a1a" if colour in LIGHT else "#ffffff"
            axis.text(x, y, text, ha="center", va="center", fontsize=7, color=ink)
        colours = ListedColormap([look(name)[0] for name in compilers])
        axis.imshow(np.ma.masked_invalid(grid), cmap=colours, vmin=-0.5, vmax=len(compilers) - 0.5, aspect="auto")
        axis.set_xticks(range(len(batches)), batches)
        axis.set_yticks(range(len(models)), models, fontsize=7)
        axis.set_xlabel("batch")
        for name in compilers:
            axis.plot([], [], marker="s", linestyle="", color=look(name)[0], label=name)
        _legend(figure, [axis])
        return figure


def gains_over_depth(metrics: pd.DataFrame, experiment: str) -> Figure:
    """Speed-up over the number of blocks, a column a batch; the width that most compilers were run with."""
    lines = metrics[(metrics["experiment"] == experiment) & (metrics["compiler"] != BASELINE)]
    width = lines["width"].mode().iloc[0]
    lines = lines[lines["width"] == width]
    batches = _spread(sorted(lines["batch"].unique()), 3)
    with mpl.rc_context(STYLE):
        figure, axes = _figure(1.4 + 2.2 * len(batches), 2.9, 1, len(batches), sharex=True, sharey=True)
        for axis, batch in zip(axes[0], batches, strict=True):
            _lines(axis, lines[lines["batch"] == batch], "speed_up", over="depth")
            axis.axhline(1, color=INK, linewidth=0.8, alpha=0.5)
            _speed_axis(axis)
            axis.grid(axis="y")
            axis.set_title(f"batch {batch}", fontsize=8)
            axis.set_xlabel(f"blocks of width {width:g}")
        axes[0, 0].set_ylabel(f"speed-up over {BASELINE}")
        _legend(figure, axes.flat)
        return figure


def figures(metrics: pd.DataFrame, best: pd.DataFrame, device: str) -> dict[str, str]:
    """Every figure of a device as SVG, by a name fit for a file; one that would be empty is left out."""
    own = metrics[(metrics["device"] == device) & metrics["throughput"].notna()]
    made: dict[str, Figure] = {}
    if (best["device"] == device).any():
        made["best-compiler"] = best_compiler(best, device)
    for experiment in dict.fromkeys(own["experiment"]):
        lines = own[own["experiment"] == experiment]
        if lines["batch"].nunique() > 1:
            made[f"scaling-{experiment}"] = scaling(own, experiment)
        stacked = lines[(lines["compiler"] != BASELINE) & lines["speed_up"].notna()]
        if stacked["depth"].nunique() > 1:
            made[f"depth-{experiment}"] = gains_over_depth(own[own["speed_up"].notna()], experiment)
    return {name: to_svg(figure, f"{device}-{name}") for name, figure in made.items()}


def _lines(axis: Axes, lines: pd.DataFrame, name: str, over: str = "batch") -> None:
    for compiler in [c for c in NAMES if c in set(lines["compiler"])]:
        own = lines[(lines["compiler"] == compiler) & lines[name].notna()].sort_values(over)
        if not len(own):
            continue
        colour, marker = look(compiler)
        if name == "speed_up" and own[name].max() < SLOW:
            style = {"color": colour, "marker": marker, "linestyle": "", "alpha": 0.6}
            axis.plot([], [], label=f"{compiler}: speed-up below {SLOW:g}, not drawn", **style)
            continue
        error = np.vstack([own[name] - own[f"{name}_low"], own[f"{name}_high"] - own[name]])
        axis.errorbar(
            own[over],
            own[name],
            np.nan_to_num(np.clip(error, 0, None)),
            color=colour,
            marker=marker,
            markersize=4,
            linewidth=1.2,
            elinewidth=0.8,
            label=compiler,
        )
    axis.set_xscale("log", base=2)
    ticks = sorted(lines[over].unique())
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def _speed_axis(axis: Axes) -> None:
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(FixedLocator(TICKS))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_locator(NullLocator())


def _figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **kwargs: object
) -> tuple[Figure, np.ndarray]:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **kwargs)


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    known = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    if known:
        figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=min(5, len(known)))


def _spread(values: list, most: int) -> list:
    """At most so many of the values, from the first to the last."""
    if len(values) <= most:
        return values
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]
