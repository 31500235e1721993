import re
from dataclasses import replace

from nnirp.evaluation.report import MAX_HTML_BYTES, findings, render_html, render_markdown, write_report


def test_the_page_is_self_contained_and_small(comparison):
    page = render_html(comparison, notes=["split digest abc"])
    assert len(page.encode()) < MAX_HTML_BYTES
    assert not re.search(r'(src|href)="(?!#|data:)|@import|url\((?!#)|<script', page)
    assert "prefers-color-scheme: dark" in page and page.count("<svg") >= 5
    assert "split digest abc" in page


def test_names_are_escaped(comparison):
    renamed = replace(comparison, target="<b>ms</b>")
    assert "<h2><b>" not in render_html(renamed, charts=[{}])


def test_markdown_says_who_wins_and_who_collapses(comparison):
    text = render_markdown([comparison], charts="charts")
    assert "At the family split roofline is best" in text
    assert "| protocol | roofline | dippm | flops |" in text
    assert "![heat-map](charts/runtime_ms-heat-map.svg)" in text
    assert any("inflation" in line for line in findings(comparison))


def test_the_best_of_each_protocol_is_marked(comparison):
    row = re.search(r"<tr><td>family</td>(.*?)</tr>", render_html(comparison, charts=[{}])).group(1)
    assert row.startswith('<td class="best">') and row.count("best") == 1


def test_writing_again_gives_the_same_bytes(comparison, tmp_path):
    first = write_report(comparison, tmp_path)
    before = [p.read_bytes() for p in first]
    assert [p.read_bytes() for p in write_report(comparison, tmp_path)] == before
    assert {p.suffix for p in first} == {".md", ".html", ".svg", ".csv"}
