"""The table of cost formulas, written from the formulas' own docstrings.

python benchmarks/formulas.py > docs/tables/formulas.md
"""

import inspect
import re

from nnirp.features import cost  # noqa: F401  (registers every formula)
from nnirp.features.costs.elementwise import ELEMENTWISE_FLOPS
from nnirp.features.costs.registry import FORMULAS, Formula


def sentences(formula: Formula) -> tuple[str, str]:
    """What a formula's docstring says, and its source."""
    text = " ".join(inspect.getdoc(formula).split())
    body, _, source = text.partition("Source: ")
    return body.strip(), source.strip().rstrip(".") or "definition of the operator"


def table() -> str:
    """Markdown: operators, FLOPs, source, file; in the order of the files."""
    operators: dict[Formula, list[str]] = {}
    for name, formula in FORMULAS.items():
        operators.setdefault(formula, []).append(name)
    lines = ["| operators | FLOPs of a call (1 MAC = 2) | source | file |", "| --- | --- | --- | --- |"]
    for formula, names in sorted(operators.items(), key=lambda item: (item[0].__module__, min(item[1]))):
        body, source = sentences(formula)
        elementwise = all(name in ELEMENTWISE_FLOPS for name in names)
        listed = "element-wise, see below" if elementwise else ", ".join(f"`{name}`" for name in sorted(names))
        file = formula.__module__.rsplit(".", 1)[-1]
        lines.append(f"| {listed} | {escaped(body)} | {escaped(source)} | `{file}` |")
    lines += ["", "| element-wise operators | FLOPs an element |", "| --- | ---: |"]
    for value in sorted(set(ELEMENTWISE_FLOPS.values())):
        listed = ", ".join(f"`{name}`" for name, flops in sorted(ELEMENTWISE_FLOPS.items()) if flops == value)
        lines.append(f"| {listed} | {value:.0f} |")
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    return re.sub(r"\|", r"\\|", text)


if __name__ == "__main__":
    print(table(), end="")
