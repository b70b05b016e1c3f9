"""Test that the joined style sheet contains exactly the rules that the pages need."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_tools.website import stylesheets

PAGE = """<!DOCTYPE html>
<html><head>
    <link rel="stylesheet" href="{root}_static/styles/base.css?v=1" />
    <link rel="stylesheet" href="{root}_static/own.css?v=2" />{more}
    <link rel="stylesheet" href="{root}_static/paper.css" media="print" />
    <script defer src="{root}_static/page.js?v=3"></script>
</head><body class="shown"></body></html>
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Create a site with two pages, one of which has its own style sheet."""
    static = tmp_path / "_static"
    (static / "styles").mkdir(parents=True)
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.html").write_text(PAGE.format(root="", more=""))
    extra = '\n    <link rel="stylesheet" href="../_static/extra.css" />'
    (tmp_path / "deep" / "b.html").write_text(PAGE.format(root="../", more=extra))
    (static / "styles" / "base.css").write_text(
        '@import "../first.css";\n.shown { background: url(../dot.png) } .nowhere { top: 0 }'
    )
    (static / "first.css").write_text(".set-by-script { color: red }")
    (static / "own.css").write_text("/*! A license. */ .shown { color: blue }")
    (static / "extra.css").write_text(".extra {}")
    (static / "paper.css").write_text(".shown {}")
    (static / "page.js").write_text("box.classList.add('set-by-script')")
    (static / "template.html").write_text("<html>not a page</html>")
    return tmp_path


def read_joined_sheet(site: Path) -> str:
    return (site / "_static" / stylesheets.BOOK).read_text()


def test_join_stylesheets_keeps_used_rules_in_order(site: Path) -> None:
    stylesheets.join_stylesheets(site)
    sheet = read_joined_sheet(site)
    parts = ["A license", ".set-by-script", "url(dot.png)", ".shown{color: blue}"]
    positions = [sheet.index(part) for part in parts]
    assert positions == sorted(positions)
    assert "nowhere" not in sheet


def test_join_stylesheets_keeps_sheets_of_single_pages(site: Path) -> None:
    stylesheets.join_stylesheets(site)
    first, second = (site / "a.html").read_text(), (site / "deep" / "b.html").read_text()
    assert stylesheets.sheets_of(first) == ["styles/base.css", "own.css"]
    assert stylesheets.sheets_of(second) == ["styles/base.css", "own.css", "extra.css"]
    assert first.count("stylesheet") == 2
    assert 'href="_static/book.css?v=' in first
    assert 'href="../_static/book.css?v=' in second
    assert second.index("book.css") < second.index("extra.css")
    assert 'media="print"' in first


def test_join_stylesheets_is_idempotent(site: Path) -> None:
    stylesheets.join_stylesheets(site)
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    stylesheets.join_stylesheets(site)
    assert before == {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_join_stylesheets_updates_pages_not_rebuilt(site: Path) -> None:
    stylesheets.join_stylesheets(site)
    before = (site / "deep" / "b.html").read_text()
    rebuilt = PAGE.format(root="", more="").replace("shown", "shown nowhere")
    (site / "a.html").write_text(rebuilt)
    stylesheets.join_stylesheets(site)
    assert ".nowhere" in read_joined_sheet(site)
    assert (site / "deep" / "b.html").read_text() != before


@pytest.mark.parametrize(
    ("sheet", "expected"),
    [
        (".a .gone, .a > #b, a:hover {x: y}", ".a > #b,a:hover{x: y}"),
        (".a:not(.gone) {x: y}", ".a:not(.gone){x: y}"),
        (":is(.gone, .a) {x: y}", ":is(.gone, .a){x: y}"),
        ('[data-gone="x"] .a {x: y}', '[data-gone="x"] .a{x: y}'),
        ("@media print {.gone {x: y} .a {x: y}}", "@media print{\n.a{x: y} }"),
        ("@media print {.gone {x: y}}", ""),
        ("@font-face {font-family: F; src: url(f.woff2)}", ""),
        ("@keyframes turn {to {x: y}} .a {animation: turn 1s}", "turn 1s"),
        ("@keyframes turn {to {x: y}}", ""),
        ('.a::before {content: "a  {b}"}', 'content: "a  {b}"'),
    ],
)
def test_remove_unused_rules_drops_unmatched_selectors(sheet: str, expected: str) -> None:
    text = stylesheets.remove_unused_rules(sheet, {"a", "b"})
    assert expected in text
    assert bool(text) == bool(expected)


def test_join_stylesheets_ignores_site_without_pages(tmp_path: Path) -> None:
    (tmp_path / "_static").mkdir()
    stylesheets.join_stylesheets(tmp_path)
    assert not (tmp_path / "_static" / stylesheets.BOOK).exists()
