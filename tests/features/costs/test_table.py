from pathlib import Path

from formulas import table

DOCUMENT = Path(__file__).parents[3] / "docs" / "tables" / "formulas.md"


def test_the_documented_formulas_are_those_of_the_code():
    assert DOCUMENT.read_text(encoding="utf-8") == table(), (
        "write it again: python benchmarks/formulas.py > docs/tables/formulas.md"
    )
