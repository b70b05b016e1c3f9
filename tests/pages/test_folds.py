"""Test that pages fold claims into one line and hide the title lines that Colab needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from contents import CHAPTERS, ROOT
from docutils import nodes
from docutils.utils import new_document
from playwright.sync_api import Browser
from test_generated import load_extension

from book_tools.chapters.chapter_files import ChapterFiles, read_source
from book_tools.chapters.folding import CLAIMS_TITLE, TABLE_TITLE, read_title
from jaxbits._claims_display import Outcome, Outcomes

CLAIMS_HTML = Outcomes([Outcome("take-fills", "it < fills", "held")])._repr_html_()
CLOSED_CLAIMS_FOLD = re.compile(
    r'<details class="claims"( open)?><summary[^>]*>✓ \d+ checks? passed here[^<]*</summary>'
    r'(?:(?!</?details).)*<details class="how"><summary>How it is checked</summary>'
    r'\s*<div class="cell_input(?:(?!</?details).)*</details>\s*</details>',
    re.S,
)


def fold_titles(chapter: str) -> list[str]:
    """Return the titles of a chapter's folded cells."""
    cells = read_source(ChapterFiles(ROOT / f"{chapter}.md")).cells
    return [title for cell in cells if (title := read_title(cell.source))]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_claims_cell_is_one_closed_fold_with_its_code(built: Path, chapter: str) -> None:
    page = (built / f"{chapter}.html").read_text("utf8")
    folds = CLOSED_CLAIMS_FOLD.findall(page)
    assert len(folds) == page.count('<details class="claims"') > 0
    assert not any(folds), "a fold is open"
    # Adjacent cells share a fold, which contains the code of all of them.
    code = re.findall(r'<details class="how">.*?</details>', page, re.S)
    assert sum(part.count('<div class="cell_input') for part in code) == fold_titles(chapter).count(
        CLAIMS_TITLE
    )
    # A claims fold ends with the fold of its code.
    adjacent = r'</details>\s*</details>\s*(?:</div>\s*)*(?:<div[^>]*>\s*)*<details class="claims"'
    assert not re.search(adjacent, page)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_page_hides_title_lines_and_labels_folds(built: Path, chapter: str) -> None:
    page = (built / f"{chapter}.html").read_text("utf8")
    assert "@title" not in page
    assert "Show code cell" not in page
    assert page.count(">How the rows are checked</p>") == 2 * fold_titles(chapter).count(
        TABLE_TITLE
    )


def test_claims_fold_and_its_code_open_by_keyboard(browser: Browser, site: str) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{site}/chapters/04-out-of-bounds.html")
    fold = page.locator("details.claims").first
    statement, code = fold.locator("li").first, fold.locator(".cell_input")
    assert not statement.is_visible()
    assert not code.is_visible()
    fold.locator("> summary").focus()
    page.keyboard.press("Enter")
    assert statement.is_visible()
    assert not code.is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert code.is_visible()
    assert code.inner_text().strip().startswith("claims(")
    context.close()


def folded_cell(source: str, *outputs: nodes.Node) -> nodes.container:
    """Return a folded cell as MyST-NB creates it before choosing among MIME types."""
    code = nodes.container("", nodes.literal_block(source, source), nb_element="cell_code_source")
    shown = nodes.container("", *outputs, nb_element="cell_code_output")
    return nodes.container("", code, shown, nb_element="cell_code", hide_mode="input")


def mime_bundle(**data: str) -> nodes.container:
    """Return an output from its data, keyed by MIME type with an underscore for the slash."""
    data_nodes = [
        nodes.container(
            "", nodes.raw("", text, format="html"), mime_type=mime_type.replace("_", "/")
        )
        for mime_type, text in data.items()
    ]
    return nodes.container("", *data_nodes, nb_element="mime_bundle")


def apply_folds(*cells: nodes.Node) -> nodes.document:
    document = new_document("a page")
    document += list(cells)
    load_extension("cell_outputs").Folds(document).apply()
    return document


def test_folds_extension_moves_claims_code_into_claims_fold() -> None:
    warning = nodes.literal_block("", "a warning")
    source = f"#@title {CLAIMS_TITLE}\nclaims()"
    page = apply_folds(
        folded_cell(source, warning, mime_bundle(text_html=CLAIMS_HTML, text_plain="✓"))
    )
    (only,) = page.children
    assert "hide_mode" not in only
    (output,) = only.children
    first, head, code, foot = output.children
    assert first.astext() == "a warning"
    assert head.astext().startswith('<div class="output text_html">\n<details class="claims"><sum')
    assert "it &lt; fills" in head.astext()
    assert code.astext() == "claims()"
    tags = [head.astext() + foot.astext()]
    assert tags[0].count("<details") == tags[0].count("</details>") == 2
    assert tags[0].count("<div") == tags[0].count("</div>") == 1


def test_folds_extension_merges_claims_about_several_entries() -> None:
    source = f"#@title {CLAIMS_TITLE}\nclaims()\nclaims()"
    skipped = Outcome("put-clips", "it clamps", "not made", made_for="jax>=99")
    other = Outcomes([Outcome("put-clips", "it drops", "held"), skipped])._repr_html_()
    page = apply_folds(
        folded_cell(source, mime_bundle(text_html=CLAIMS_HTML), mime_bundle(text_html=other))
    )
    (output,) = page.children[0].children
    head, code, foot = output.children
    shown = head.astext() + foot.astext()
    assert "✓ 2 checks passed here (1 does not apply here)</summary>" in shown
    assert all(text in shown for text in ("it &lt; fills", "it drops", "it clamps"))
    assert shown.count("<details") == shown.count("</details>") == 2
    assert code.astext() == "claims()\nclaims()"


def claims_cell(code: str, text: str, kind: str = "held") -> nodes.container:
    shown = Outcomes([Outcome("take-fills", text, kind)])._repr_html_()
    return folded_cell(f"#@title {CLAIMS_TITLE}\n{code}", mime_bundle(text_html=shown))


def test_folds_extension_merges_adjacent_claims_cells() -> None:
    page = apply_folds(
        *(claims_cell(f"claims({n})", f"claim {n}") for n in (1, 2, 3)),
        nodes.paragraph("", "some text"),
        claims_cell("claims(4)", "claim 4"),
        claims_cell("claims(5)", "claim 5", "failed"),
    )
    merged, _, after, failed = page.children
    head, *code, foot = merged.children[0].children
    assert "✓ 3 checks passed here</summary>" in head.astext()
    assert re.findall(r"claim \d", head.astext()) == ["claim 1", "claim 2", "claim 3"]
    assert [block.astext() for block in code] == ["claims(1)", "claims(2)", "claims(3)"]
    shown = head.astext() + foot.astext()
    assert shown.count("<details") == shown.count("</details>") == 2
    assert "claim 4" in after.astext()
    assert "claim 5" in failed.astext()


@pytest.mark.parametrize(
    ("source", "output", "prompt", "code"),
    [
        (f"#@title {TABLE_TITLE}\nx", "<table></table>", "How the rows are checked", "x"),
        ("#@title Helper code: f\nx", "<p></p>", "Helper code: f", "x"),
        ("x", "<p></p>", None, "x"),
        # With a table below the claims, the output is not just a claims fold.
        (
            f"#@title {TABLE_TITLE}\nx",
            f"{CLAIMS_HTML}<table></table>",
            "How the rows are checked",
            "x",
        ),
    ],
)
def test_folds_extension_keeps_fold_of_other_cell(
    source: str, output: str, prompt: str | None, code: str
) -> None:
    (only,) = apply_folds(folded_cell(source, mime_bundle(text_html=output))).children
    assert only["hide_mode"] == "input"
    assert only.get("prompt_show") == only.get("prompt_hide") == prompt
    (block,) = only.findall(nodes.literal_block)
    assert block.astext() == block.rawsource == code
    assert all(text.parent is block for text in block.children)
