"""What the benchmark says, in sentences, tables and figures: a page, a section of the comparison's page, and one run a compiler."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from nnirp.compilers.analysis import METRICS, Analysis
from nnirp.compilers.charts import figures
from nnirp.compilers.configuration import BASELINE, NAMES
from nnirp.compilers.rows import MEASURED
from nnirp.evaluation.leaderboard import markdown_table

SECTION = "section.json"
CAPTIONS = {
    "best-compiler": f"Fastest compiler of each model and batch, with its speed-up over {BASELINE}; * where its 95 % interval is clear of the next one's.",
    "scaling": "Scaling efficiency and speed-up over the batch; whiskers are 95 % bootstrap intervals over rounds.",
    "depth": "Speed-up over the number of stacked blocks.",
}
MOST_PAIRS = 6


def findings(analysis: Analysis, device: str) -> list[str]:
    """What the numbers of one device say, in sentences."""
    found = [_coverage(analysis, device)]
    metrics = analysis.metrics[analysis.metrics["device"] == device]
    for compiler in _compilers(metrics):
        own = metrics[(metrics["compiler"] == compiler) & metrics["speed_up"].notna()]
        if compiler == BASELINE or not len(own):
            continue
        at, number = own.groupby("batch")["speed_up"].median(), own["model"].nunique()
        spread = f"{own['speed_up'].min():.2g} to {own['speed_up'].max():.2g}"
        ends = f"{at.iloc[0]:.2g} at batch {at.index[0]}" + (
            f" and {at.iloc[-1]:.2g} at batch {at.index[-1]}" if len(at) > 1 else ""
        )
        found.append(
            f"{compiler}: median speed-up {ends} over {number} model{'s' if number > 1 else ''}, single runs {spread}."
        )
    found += _reversal_sentences(analysis, device) + _depth_sentences(analysis, device)
    return found


def _coverage(analysis: Analysis, device: str) -> str:
    runs = analysis.runs[analysis.runs["device"] == device]
    good, total = int((runs["status"] == MEASURED).sum()), len(runs)
    disturbed, unsettled = int((runs["disturbed"] == True).sum()), int((runs["settled"] == False).sum())  # noqa: E712
    text = f"{good} of {total} runs measured, latency is the {analysis.statistic} of the repeats"
    text += f"; {disturbed} in disturbed moments, {unsettled} whose last quarter differs from the first"
    untuned = sorted(set(runs.loc[runs["note"] == "untuned", "compiler"]))
    return text + (f"; {', '.join(untuned)} is untuned." if untuned else ".")


def _reversal_sentences(analysis: Analysis, device: str) -> list[str]:
    pairs = analysis.pairs[analysis.pairs["device"] == device]
    turned = analysis.reversals[analysis.reversals["device"] == device]
    found = []
    for (experiment, compiler), own in pairs.groupby(["experiment", "compiler"], sort=False):
        if not own["reversed"].sum():
            continue
        text = f"{experiment}, {compiler}: {own['reversed'].sum()} of {own['pairs'].sum()} rankings against {BASELINE} turn"
        text += f", {own['certainly'].sum()} of them beyond both intervals"
        sure = turned[(turned["experiment"] == experiment) & (turned["compiler"] == compiler) & turned["certain"]]
        named = [
            f"{row.second} overtakes {row.first} at batch {', '.join(map(str, group['batch']))}"
            for (_, _), group in sure.groupby(["first", "second"], sort=False)
            for row in [next(group.itertuples())]
        ]
        more = f" and {len(named) - MOST_PAIRS} more pairs" if len(named) > MOST_PAIRS else ""
        found.append(text + (f": {'; '.join(named[:MOST_PAIRS])}{more}." if named else "."))
    if len(pairs) and not found:
        found.append(f"No compiler turns a ranking: {pairs['pairs'].sum()} pairs were compared.")
    return found


def _depth_sentences(analysis: Analysis, device: str) -> list[str]:
    depth = analysis.depth[analysis.depth["device"] == device]
    found = []
    for (experiment, compiler), own in depth.groupby(["experiment", "compiler"], sort=False):
        rising, falling = (own["slope_low"] > 0).sum(), (own["slope_high"] < 0).sum()
        found.append(
            f"{experiment}, {compiler}: doubling the depth multiplies the speed-up by {2 ** own['slope'].median():.3g} in the "
            f"median of {len(own)} widths and batches; it rises in {rising}, falls in {falling}, and is undecided in the others."
        )
    return found


def shown_tables(analysis: Analysis, device: str) -> list[tuple[str, pd.DataFrame]]:
    """(caption, frame) of what the page shows of a device; the whole tables are CSV files."""
    metrics = analysis.metrics[analysis.metrics["device"] == device]
    order = _compilers(metrics)
    names = metrics["experiment"] + " " + metrics["model"]
    largest = metrics["batch"].max()
    tables = []
    for batch in sorted({1, largest} & set(metrics["batch"])):
        own = metrics[metrics["batch"] == batch].assign(model=names)
        frame = own.pivot(index="model", columns="compiler", values="speed_up").reindex(columns=order)
        tables.append((f"speed-up over {BASELINE} at batch {batch}", frame.reindex(own["model"].unique())))
    own = metrics[metrics["batch"] == largest].assign(model=names)
    frame = own.pivot(index="model", columns="compiler", values="ase").reindex(columns=order)
    if largest > 1:
        tables.append((f"scaling efficiency ASE at batch {largest}", frame.reindex(own["model"].unique())))
    tables = [(caption, frame.rename_axis(columns=None).reset_index()) for caption, frame in tables]
    pairs = analysis.pairs[(analysis.pairs["device"] == device) & (analysis.pairs["reversed"] > 0)]
    if len(pairs):
        tables.append(("rankings that turn", pairs.drop(columns="device").reset_index(drop=True)))
    undefined = metrics[metrics["throughput_reason"].str.len().gt(0) & metrics["throughput"].isna()]
    if len(undefined):
        reasons = undefined.assign(why=undefined["throughput_reason"].str.slice(0, 110))
        tables.append(("runs without a measurement", reasons[["experiment", "model", "why"]].reset_index(drop=True)))
    return tables


def sections(analysis: Analysis) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Sections for the page of the comparison, one a device, and every figure as SVG by its file's name."""
    made, drawn = [], {}
    for device in analysis.runs["device"].unique():
        svgs = figures(analysis.metrics, analysis.best, device)
        drawn |= {f"{device}-{name}": svg for name, svg in svgs.items()}
        made.append(
            {
                "heading": f"compilers on {device}",
                "findings": findings(analysis, device),
                "tables": [_as_table(caption, frame) for caption, frame in shown_tables(analysis, device)],
                "figures": [{"svg": svg, "caption": _caption(name)} for name, svg in svgs.items()],
            }
        )
    return made, drawn


def write_report(analysis: Analysis, folder: Path) -> None:
    """Write `compilers.md`, `section.json`, `tables/*.csv` and `charts/*.svg`; the same rows give the same bytes."""
    made, drawn = sections(analysis)
    for name in ("tables", "charts"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, frame in analysis.tables().items():
        frame.to_csv(folder / "tables" / f"{name}.csv", index=False, float_format="%.6g", lineterminator="\n")
    for name, svg in drawn.items():
        (folder / "charts" / f"{name}.svg").write_text(svg, encoding="utf-8")
    (folder / SECTION).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    parts = ["# Compilers\n"]
    for section, device in zip(made, analysis.runs["device"].unique(), strict=True):
        parts.append(f"## {section['heading'].capitalize()}\n")
        parts.append("\n".join(f"- {line}" for line in section["findings"]) + "\n")
        for caption, frame in shown_tables(analysis, device):
            parts += [f"### {caption[0].upper() + caption[1:]}\n", markdown_table(frame)]
        parts += [
            f"![{_caption(n.removeprefix(f'{device}-'))}](charts/{n}.svg)\n"
            for n in drawn
            if n.startswith(f"{device}-")
        ]
    (folder / "compilers.md").write_text("\n".join(parts), encoding="utf-8")


def run_metrics(
    analysis: Analysis, device: str, compiler: str
) -> tuple[dict[str, float], dict[str, list[tuple[int, float]]]]:
    """What the run of one compiler shows: final metrics, and curves over the batch, whose step is the batch."""
    runs = analysis.runs[(analysis.runs["device"] == device) & (analysis.runs["compiler"] == compiler)]
    own = analysis.metrics[(analysis.metrics["device"] == device) & (analysis.metrics["compiler"] == compiler)]
    found = {f"status/{status}": float(count) for status, count in runs["status"].value_counts().items()}
    found |= {f"{name}_s": float(runs[f"{name}_ms"].median() / 1e3) for name in ("compile", "first_call")}
    areas = analysis.areas[(analysis.areas["device"] == device) & (analysis.areas["compiler"] == compiler)]
    curves = {}
    for experiment, lines in own.groupby("experiment"):
        found[f"median_speed_up/{experiment}"] = float(lines["speed_up"].median())
        found[f"median_area/{experiment}"] = float(areas.loc[areas["experiment"] == experiment, "area"].median())
        for model, points in lines.sort_values("batch").groupby("model"):
            for name in METRICS:
                known = points[points[name].notna()]
                if len(known):
                    curves[f"{name}/{experiment}/{model}"] = [
                        (int(b), float(v)) for b, v in zip(known["batch"], known[name], strict=True)
                    ]
    turned = analysis.pairs[(analysis.pairs["device"] == device) & (analysis.pairs["compiler"] == compiler)]
    found |= {"reversals": float(turned["reversed"].sum()), "reversals_certain": float(turned["certainly"].sum())}
    return found, curves


def _compilers(metrics: pd.DataFrame) -> list[str]:
    present = set(metrics["compiler"])
    return [name for name in NAMES if name in present] + sorted(present - set(NAMES))


def _caption(name: str) -> str:
    return CAPTIONS.get(name) or f"{name.partition('-')[2]}: {CAPTIONS[name.split('-')[0]]}"


def _as_table(caption: str, frame: pd.DataFrame) -> Mapping[str, Any]:
    """A table of the template: the fastest compiler of a row is marked where the columns are compilers."""
    scored = [i for i, column in enumerate(frame.columns) if column in NAMES] if "speed-up" in caption else []
    rows = []
    for values in frame.itertuples(index=False):
        known = [values[i] for i in scored if values[i] == values[i]]
        best = max(known) if len(known) > 1 else None
        rows.append([{"text": _text(value), "best": i in scored and value == best} for i, value in enumerate(values)])
    return {"caption": caption, "columns": [str(column) for column in frame.columns], "rows": rows}


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.3g}"
    return str(value)
