"""The comparison as a page to read: Markdown for the repository, one self-contained HTML file with inline charts."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from nnirp.errors import NnirpError
from nnirp.evaluation.charts import figure_names, svgs
from nnirp.evaluation.comparison import Comparison, write_tables
from nnirp.evaluation.leaderboard import markdown_table
from nnirp.evaluation.metrics import HIGHER_IS_BETTER

MAX_HTML_BYTES = 1_500_000
TITLE = "Which predictors survive which split"
CAPTIONS = {
    "heat-map": "Protocols from easy (top) to hard; the same predictors, the same measurements, other samples to learn from.",
    "scatter": "On the line the prediction is exact; the band is the noise floor.",
    "families": "Families of the test samples; whiskers are one standard deviation over seeds.",
    "coverage": "Each point is a held-out cluster. Full coverage does not guarantee transfer.",
    "size": "Test graphs in fifths by work.",
}


def _number(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def _score_cells(comparison: Comparison) -> pd.DataFrame:
    """protocol × predictor as text `mean ± sd`."""
    cells = comparison.table.copy().astype(object)
    for protocol in cells.index:
        for predictor in cells.columns:
            mean, sd = comparison.table.loc[protocol, predictor], comparison.sd.loc[protocol, predictor]
            cells.loc[protocol, predictor] = _number(mean) + (f" ± {_number(sd)}" if pd.notna(sd) else "")
    return cells


def findings(comparison: Comparison) -> list[str]:
    """What the numbers say, in sentences."""
    lines = []
    best = comparison.ranks.idxmin(axis=1)
    for protocol in comparison.protocols:
        name = best[protocol]
        mean = comparison.table.loc[protocol, name]
        lines.append(f"At the {protocol} split {name} is best: {comparison.metric} {_number(mean)}.")
    for row in comparison.inflation.sort_values("factor", kind="stable").itertuples():
        if pd.notna(row.factor):
            lines.append(
                f"{row.predictor}: {_number(row.error_easy)} at {row.easy}, {_number(row.error_hard)} at {row.hard}, "
                f"an inflation of {_number(row.factor)}."
            )
    easy, hard = comparison.ranks.iloc[0], comparison.ranks.iloc[-1]
    moved = [f"{p} from {easy[p]:g} to {hard[p]:g}" for p in comparison.predictors if easy[p] != hard[p]]
    if len(comparison.protocols) > 1:
        text = ", ".join(moved) if moved else "none"
        lines.append(f"Rank changes between {comparison.protocols[0]} and {comparison.protocols[-1]}: {text}.")
    r = comparison.ranking
    if r is not None:
        text = f"Mean ranks over {r.blocks} protocols differ by chance with p = {r.p_value:.2g} (Friedman); two predictors "
        text += f"are told apart from {r.critical_difference:.2f} ranks on (Nemenyi, 5 %)."
        groups = "; ".join(", ".join(g) for g in r.groups)
        lines.append(text + (f" Not told apart: {groups}." if groups else ""))
    if comparison.noise_floor_percent is not None:
        lines.append(
            f"Noise floor: measuring again differs by {comparison.noise_floor_percent:.2g} %; less is not skill."
        )
    return lines


def _family_table(comparison: Comparison, protocol: str) -> pd.DataFrame:
    frame = comparison.families[comparison.families["protocol"] == protocol]
    wide = frame.pivot_table(index="family", columns="predictor", values="mean")
    return wide.reindex(columns=[p for p in comparison.predictors if p in wide])


def _tables(comparison: Comparison) -> list[tuple[str, pd.DataFrame]]:
    """(caption, frame of text or numbers with the row names as its first column)."""
    main = _score_cells(comparison).rename_axis(columns=None).reset_index()
    tables = [(f"{comparison.metric}, pooled, mean ± sd over seeds", main)]
    for scope, caption in (
        ("mean_over_clusters", "mean over clusters"),
        ("mean_over_families", "mean over families"),
        ("worst_family", "worst family"),
    ):
        tables.append((f"{comparison.metric}, {caption}", comparison.pivot(comparison.metric, scope).reset_index()))
    for metric, caption in (
        ("within_10_percent", "share within 10 %, pooled"),
        ("kendall", "Kendall's tau inside families, mean over families"),
        ("top_1_regret_percent", "regret of choosing the fastest of ten, %, mean over families"),
        ("interval_coverage_percent", "measurements inside the interval, %, pooled"),
    ):
        scope = "mean_over_families" if "families" in caption else "pooled"
        frame = comparison.pivot(metric, scope)
        if frame.notna().any(axis=None):
            tables.append((caption, frame.rename_axis(columns=None).reset_index()))
    last = next((p for p in ("family", "subfamily", "cluster") if p in comparison.protocols), comparison.protocols[-1])
    family = _family_table(comparison, last).rename_axis(columns=None).reset_index()
    tables.append((f"{comparison.metric} per family, {last} split", family))
    if len(comparison.inflation):
        tables.append(("inflation: error at the hard split over error at the easy one", comparison.inflation))
    if len(comparison.differences):
        shown = comparison.differences.assign(
            significant=comparison.differences["significant"].map({True: "yes", False: "no"})
        )
        tables.append(("difference in MAPE, mean over clusters, 95 % bootstrap interval", shown))
    return [(caption, frame.rename_axis(columns=None)) for caption, frame in tables]


def _as_list(comparison: Comparison | Sequence[Comparison]) -> list[Comparison]:
    return [comparison] if isinstance(comparison, Comparison) else list(comparison)


def render_markdown(
    comparison: Comparison | Sequence[Comparison],
    *,
    title: str = TITLE,
    introduction: str = "",
    notes: Sequence[str] = (),
    charts: str | None = None,
) -> str:
    """One section per target. charts: folder of the SVG files relative to the page, to show them in it."""
    parts = [f"# {title}\n"] + ([f"{introduction}\n"] if introduction else [])
    for c in _as_list(comparison):
        parts.append(f"## {c.target}\n")
        parts.append("\n".join(f"- {line}" for line in findings(c)) + "\n")
        for caption, frame in _tables(c):
            parts.append(f"### {caption[0].upper() + caption[1:]}\n")
            parts.append(markdown_table(frame))
        if charts is not None:
            parts += [f"![{name}]({charts}/{c.target}-{name}.svg)\n" for name in figure_names(c)]
    if notes:
        parts.append("## Provenance\n\n" + "\n".join(f"- {note}" for note in notes) + "\n")
    return "\n".join(parts)


def _html_table(caption: str, frame: pd.DataFrame, predictors: Sequence[str], metric: str) -> dict[str, Any]:
    """Marks the best predictor of each row, where the columns are predictors."""
    scored = [i for i, c in enumerate(frame.columns) if str(c) in predictors]
    numbers = frame.iloc[:, scored].map(
        lambda v: float(str(v).split(" ")[0]) if str(v)[:1] in "0123456789-" else float("nan")
    )
    better_high = metric in HIGHER_IS_BETTER
    rows = []
    for i in range(len(frame)):
        row = numbers.iloc[i].dropna()
        best = (row.max() if better_high else row.min()) if len(row) > 1 else None
        cells = []
        for j, value in enumerate(frame.iloc[i]):
            text = _number(value) if isinstance(value, float) else str(value)
            mark = j in scored and best is not None and numbers.iloc[i, scored.index(j)] == best
            cells.append({"text": text, "best": bool(mark)})
        rows.append(cells)
    return {"caption": caption, "columns": list(frame.columns), "rows": rows}


def _caption_metric(caption: str, metric: str) -> str:
    known = {"share within 10": "within_10_percent", "Kendall": "kendall"}
    return next((m for start, m in known.items() if caption.startswith(start)), metric)


def render_html(
    comparison: Comparison | Sequence[Comparison],
    *,
    title: str = TITLE,
    introduction: str = "",
    notes: Sequence[str] = (),
    charts: Sequence[Mapping[str, str]] | None = None,
    more: Sequence[Mapping[str, Any]] = (),
) -> str:
    """One self-contained page: inline SVG, no script, nothing loaded; follows the reader's light or dark setting.

    charts: the SVG of each comparison by name, from `charts.svgs`, where it was drawn before.
    more: sections made elsewhere, with heading, findings, tables and figures as the template wants them.
    Raises NnirpError when the page is larger than 1.5 MB.
    """
    sections = []
    drawn = [svgs(c) for c in _as_list(comparison)] if charts is None else charts
    for i, c in enumerate(_as_list(comparison)):
        shown = [
            {
                "svg": svg,
                "caption": CAPTIONS.get(name, CAPTIONS.get(name.split("-")[0], "")),
            }
            for name, svg in drawn[i].items()
        ]
        # Coverage has no best: too wide an interval covers everything.
        tables = [
            _html_table(k, f, () if "interval" in k else c.predictors, _caption_metric(k, c.metric))
            for k, f in _tables(c)
        ]
        sections.append({"heading": c.target, "findings": findings(c), "tables": tables, "figures": shown})
    source = (files("nnirp.evaluation") / "templates" / "comparison.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.from_string(source).render(
        title=title, introduction=introduction, notes=list(notes), sections=[*sections, *more]
    )
    if len(page.encode()) > MAX_HTML_BYTES:
        raise NnirpError(
            f"the report is {len(page.encode()) / 1e6:.1f} MB, more than 1.5: compare fewer predictors at once"
        )
    return page


def write_report(
    comparison: Comparison | Sequence[Comparison],
    folder: str | Path,
    *,
    title: str = TITLE,
    introduction: str = "",
    notes: Sequence[str] = (),
    more: Sequence[Mapping[str, Any]] = (),
) -> list[Path]:
    """Writes comparison.md, comparison.html, charts/*.svg and tables/*.csv; the same scores give the same bytes."""
    folder = Path(folder)
    (folder / "charts").mkdir(parents=True, exist_ok=True)
    text = {"title": title, "introduction": introduction, "notes": notes}
    page, markdown = folder / "comparison.html", folder / "comparison.md"
    drawn = [svgs(c) for c in _as_list(comparison)]
    page.write_text(render_html(comparison, charts=drawn, more=more, **text), encoding="utf-8")
    markdown.write_text(render_markdown(comparison, charts="charts", **text), encoding="utf-8")
    paths = [markdown, page]
    for c, made in zip(_as_list(comparison), drawn, strict=True):
        for name, svg in made.items():
            path = folder / "charts" / f"{c.target}-{name}.svg"
            path.write_text(svg, encoding="utf-8")
            paths.append(path)
        paths += write_tables(c, folder / "tables")
    return paths
