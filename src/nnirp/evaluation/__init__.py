"""How good a predictor is and how far that can be trusted: scores, statistics, comparison across splits, reports."""

from importlib import import_module

_PUBLIC = {
    "Comparison": "comparison",
    "compare": "comparison",
    "Scores": "evaluator",
    "evaluate": "evaluator",
    "evaluate_many": "evaluator",
    "samples_table": "evaluator",
    "leaderboard": "leaderboard",
    "render_html": "report",
    "render_markdown": "report",
    "write_report": "report",
}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
