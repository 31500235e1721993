"""What an exploration leaves behind: a table of every candidate as CSV, and a page with a chart to point at."""

import csv
import html
import io
import json
from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from nnirp.prediction.exploration.search import Candidate, Found
from nnirp.prediction.exploration.spec import Spec

LABELS = {
    "runtime_ms": "runtime (ms)",
    "peak_ram_mb": "peak memory (MB)",
    "peak_vram_mb": "peak GPU memory (MB)",
    "energy_j": "energy (J)",
    "parameters": "parameters",
    "gflops": "GFLOPs",
    "weights_mb": "weights (MB)",
    "activations_mb": "peak activations (MB)",
}
DOT, FRONT = "#8c8c8c", "#d55e00"


def write_csv(found: Found, path: Path) -> None:
    """One row a candidate: its point, its figures, and whether it is on the Pareto front."""
    front = set(found.front)
    names = [*found.candidates[0].point, *found.candidates[0].figures]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "pareto"])
        for number, candidate in enumerate(found.candidates):
            values = {**candidate.point, **candidate.figures}
            writer.writerow(
                [*(f"{v:.6g}" if isinstance(v, float) else v for v in (values[n] for n in names)), number in front]
            )


def write_page(found: Found, spec: Spec, basis: str, path: Path) -> None:
    """A self-contained HTML page: a chart whose points show their candidate, one of every pair of objectives, and the front as a table."""
    names = list(spec.objectives)
    pairs = [(x, y) for i, x in enumerate(names) for y in names[i + 1 :]] or [(names[0], names[0])]
    charts = [
        f'<figure data-pair="{i}"{"" if i == 0 else " hidden"}>{_chart(found, x, y)}</figure>'
        for i, (x, y) in enumerate(pairs)
    ]
    options = "".join(
        f'<option value="{i}">{LABELS.get(x, x)} × {LABELS.get(y, y)}</option>' for i, (x, y) in enumerate(pairs)
    )
    # `<` could end the script that holds the data
    data = json.dumps([_description(c) for c in found.candidates]).replace("<", "\\u003c")
    content = TEMPLATE.format(
        title=html.escape(f"{spec.builder}: {len(found.candidates)} candidates, {len(found.front)} on the front"),
        basis=html.escape(basis),
        options=options,
        charts="".join(charts),
        table=_table(found, names),
        data=data,
    )
    path.write_text(content, encoding="utf-8")


def front_rows(found: Found, names: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """The Pareto front as columns and rows: the point, then the objectives."""
    points = list(found.candidates[0].point)
    rows = [
        (*(found.candidates[i].point[p] for p in points), *(found.candidates[i].figures[n] for n in names))
        for i in found.front
    ]
    return (*points, *(LABELS.get(n, n) for n in names)), rows


def _description(candidate: Candidate) -> str:
    point = ", ".join(f"{k} {v}" for k, v in candidate.point.items())
    parts = []
    for name, value in candidate.figures.items():
        if name.endswith(("_low", "_high")):
            continue
        interval = ""
        if f"{name}_low" in candidate.figures:
            interval = f" ({candidate.figures[f'{name}_low']:.4g} to {candidate.figures[f'{name}_high']:.4g})"
        parts.append(f"{LABELS.get(name, name)} {value:,.4g}{interval}")
    return point + "\n" + "\n".join(parts)


def _chart(found: Found, x: str, y: str) -> str:
    """SVG in which the i-th candidate's dot has the id `<axis pair>-i`, made by one path each so that it can be pointed at."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    front = set(found.front)
    for number, candidate in enumerate(found.candidates):
        on_front = number in front
        axis.plot(
            candidate.figures[x],
            candidate.figures[y],
            marker="o",
            linestyle="none",
            markersize=6 if on_front else 4,
            color=FRONT if on_front else DOT,
            alpha=1.0 if on_front else 0.5,
            zorder=3 if on_front else 2,
            gid=f"{x}-{y}-{number}",
        )
    axis.set(xscale="log", yscale="log", xlabel=LABELS.get(x, x), ylabel=LABELS.get(y, y))
    axis.spines[["top", "right"]].set_visible(False)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def _table(found: Found, names: Sequence[str]) -> str:
    columns, rows = front_rows(found, names)
    head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
    body = "".join(
        f'<tr data-candidate="{i}">'
        + "".join(f"<td>{html.escape(f'{v:,.4g}' if isinstance(v, float) else str(v))}</td>" for v in row)
        + "</tr>"
        for i, row in zip(found.front, rows, strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


TEMPLATE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
figure {{ margin: 1rem 0; }} svg {{ width: 100%; height: auto; }}
table {{ border-collapse: collapse; }} th, td {{ padding: .2rem .7rem; text-align: right; }} tr:hover, tr.on {{ background: #d55e0033; }}
#tip {{ position: fixed; white-space: pre; background: #fff; border: 1px solid #888; padding: .4rem .6rem; pointer-events: none; }}
g[id] path, g[id] use {{ cursor: pointer; }} g.on use {{ stroke: #000; stroke-width: 2; }}
</style>
<h1>{title}</h1><p>{basis}</p>
<label>Chart <select id="pair">{options}</select></label>
{charts}
<h2>Pareto front</h2>{table}
<div id="tip" hidden></div>
<script>
const data = {data}, tip = document.getElementById("tip");
const dots = [...document.querySelectorAll("figure g[id]")].filter(g => /-\\d+$/.test(g.id) && g.id.split("-").length === 3);
const number = g => +g.id.split("-").pop();
function mark(i, on) {{
  dots.filter(g => number(g) === i).forEach(g => g.classList.toggle("on", on));
  document.querySelectorAll(`tr[data-candidate="${{i}}"]`).forEach(r => r.classList.toggle("on", on));
}}
dots.forEach(g => {{
  g.addEventListener("mousemove", e => {{
    tip.hidden = false; tip.textContent = data[number(g)]; mark(number(g), true);
    tip.style.left = Math.min(e.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px"; tip.style.top = e.clientY + 12 + "px";
  }});
  g.addEventListener("mouseleave", () => {{ tip.hidden = true; mark(number(g), false); }});
}});
document.querySelectorAll("tr[data-candidate]").forEach(r => {{
  r.addEventListener("mouseenter", () => mark(+r.dataset.candidate, true));
  r.addEventListener("mouseleave", () => mark(+r.dataset.candidate, false));
}});
document.getElementById("pair").addEventListener("change", e =>
  document.querySelectorAll("figure[data-pair]").forEach(f => f.hidden = f.dataset.pair !== e.target.value));
</script></html>
"""
