"""Test the lecture slides, which are made from the executed chapters."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from book_tools.chapters.chapter_files import CHAPTERS, ChapterFiles, find_chapters
from book_tools.project_metadata import ROOT
from book_tools.slides import figures, layout, markdown
from book_tools.slides.code_parts import split_points
from book_tools.slides.deck import make_deck
from book_tools.slides.layout import HEIGHT, SMALLEST, WIDTH
from book_tools.slides.make_slides import read_deck, write_decks
from book_tools.slides.render import render_deck
from book_tools.slides.slide import Deck

DECKS = [read_deck(chapter) for chapter in find_chapters()]
each_deck = pytest.mark.parametrize("deck", DECKS, ids=lambda deck: deck.stem)

# What a browser finds on each slide: whatever reaches into the footer, code that is wider than its
# box, and the smallest type.
MEASURE = """() => [...document.querySelectorAll(".slide")].map((slide) => {
    const floor = slide.querySelector("footer").getBoundingClientRect().top;
    const problems = [];
    if (slide.scrollHeight > slide.clientHeight || slide.scrollWidth > slide.clientWidth) {
        problems.push("the slide overflows");
    }
    for (const part of slide.querySelectorAll("h1, h2, p, li, pre, img")) {
        const name = part.tagName.toLowerCase();
        const isWindow = part.parentElement.className === "window";
        const shape = (isWindow ? part.parentElement : part).getBoundingClientRect();
        if (shape.bottom > floor) problems.push(name + " below the floor");
        if (part.scrollWidth > part.clientWidth && name === "pre") problems.push("wide code");
    }
    const texts = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
    let smallest = Infinity;
    while (texts.nextNode()) {
        if (!texts.currentNode.textContent.trim()) continue;
        const style = getComputedStyle(texts.currentNode.parentElement);
        smallest = Math.min(smallest, parseFloat(style.fontSize));
    }
    const image = slide.querySelector("img");
    if (image && !image.naturalWidth) problems.push("the figure is broken");
    return {id: slide.id, problems, smallest};
})"""


@each_deck
def test_deck_shows_failures_and_fixes(deck: Deck) -> None:
    kinds = [slide.kind for slide in deck.slides]
    failing = [slide for slide in deck.slides if slide.kind == "failing"]
    assert any(slide.cells and (slide.output or slide.error) for slide in failing)
    assert any(slide.kind == "fix" and (slide.lead or slide.cells) for slide in deck.slides)
    assert kinds[:2] == ["title", "rules"]
    assert kinds[-1] == "questions"
    assert "catch" in kinds


@each_deck
def test_every_sharp_bit_has_failing_lines_a_fix_and_a_check(deck: Deck) -> None:
    text = (CHAPTERS / f"{deck.stem}.md").read_text("utf8").partition("\n## Also sharp")[0]
    sections = re.split(r"^## (.+)$", text, flags=re.M)[1:]
    for heading, body in zip(sections[::2], sections[1::2], strict=True):
        if "**The fix" not in body:
            continue
        headings = [heading, *re.findall(r"^### (.+)$", body, re.M)]
        titles = {markdown.to_html(one) for one in headings}
        kinds = {slide.kind for slide in deck.slides if slide.title in titles}
        assert {"failing", "fix"} <= kinds, heading
        if "**Catch it" in body:
            assert "catch" in kinds, heading


@each_deck
def test_code_and_outputs_are_those_of_the_chapter(deck: Deck) -> None:
    notebook = nbformat.read(CHAPTERS / f"{deck.stem}.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    sources = [cell.source for cell in cells]
    outputs = [
        "".join(
            output.get("text", "")
            or output.get("data", {}).get("text/plain", "")
            or f"{output.get('ename')}: {output.get('evalue')}"
            for output in cell.outputs
        )
        for cell in cells
    ]
    for slide in deck.slides:
        for code in slide.cells:
            assert any(code in source for source in sources), code
        for shown in (slide.output, slide.error):
            kept = shown.replace("⋯", "").strip()
            assert not kept or any(kept in output for output in outputs), shown


@each_deck
def test_pages_load_nothing(deck: Deck) -> None:
    page = render_deck(deck)
    assert not re.search(r"""(?:src|href|action)\s*=\s*["'](?!data:|#)""", page)
    assert not re.search(r"url\((?!data:)|@import|<link|<iframe", page)
    assert "default-src 'none'" in page


@pytest.fixture(scope="module")
def browser_page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    yield page
    page.close()


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_decks(find_chapters(), tmp_path_factory.mktemp("slides"))


def test_nothing_overflows_and_type_is_large(browser_page: Page, paths: list[Path]) -> None:
    requests: list[str] = []
    browser_page.on("request", lambda request: requests.append(request.url))
    browser_page.emulate_media(media="print")
    found = {}
    for path in paths:
        browser_page.goto(path.as_uri(), wait_until="load")
        for slide in browser_page.evaluate(MEASURE):
            if slide["problems"] or slide["smallest"] < SMALLEST:
                found[f"{path.stem}#{slide['id']}"] = slide
    assert not found
    assert all(url.startswith(("file:", "data:")) for url in requests)


def test_keys_move_between_slides(browser_page: Page, paths: list[Path]) -> None:
    browser_page.emulate_media(media="screen")
    browser_page.goto(paths[0].as_uri())
    browser_page.keyboard.press("ArrowRight")
    browser_page.keyboard.press("ArrowRight")
    assert browser_page.url.endswith("#3")
    assert browser_page.locator(".slide:visible").count() == 1
    browser_page.keyboard.press("ArrowLeft")
    assert browser_page.locator(".slide:visible").get_attribute("id") == "2"


def test_command_writes_html_and_pdf_with_one_page_per_slide(tmp_path: Path) -> None:
    if not shutil.which("chromium") and not shutil.which("chromium-browser"):
        pytest.skip("needs chromium")
    from pypdf import PdfReader

    deck = DECKS[3]
    # Playwright's browser of the tests above still runs in this process.
    command = [sys.executable, "-m", "book_tools", "slides", deck.stem, "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "the slides of 1 chapter in 2 files" in done.stdout
    assert (tmp_path / f"{deck.stem}.html").read_text("utf8") == render_deck(deck)
    pages = PdfReader(tmp_path / f"{deck.stem}.pdf").pages
    assert len(pages) == len(deck.slides)
    assert {(round(page.mediabox.width), round(page.mediabox.height)) for page in pages} == {
        (WIDTH * 72 // 96, HEIGHT * 72 // 96)
    }


@each_deck
def test_figures_with_small_type_are_also_shown_enlarged(deck: Deck) -> None:
    for slide, following in itertools.pairwise(deck.slides):
        if slide.kind != "figure" or slide.figure is None:
            continue
        small = figures.find_smallest_type(slide.figure[1])
        assert small >= 20 or following.window, f"{slide.title}: type of {small:.0f} px"


def test_divide_figure_covers_the_whole_figure() -> None:
    text = '<g transform="translate(9 9) scale(0.1 -0.1)">'
    windows = figures.divide_figure(f'<svg width="432pt" height="432pt">{text}</svg>')
    assert len(windows) > 1
    height = windows[0].width  # because the figure is square
    tops = [window.top for window in windows]
    assert tops[0] == 0
    assert tops[-1] + figures.HEIGHT == pytest.approx(height, abs=1)
    assert all(b - a < figures.HEIGHT for a, b in itertools.pairwise(tops))
    assert not figures.divide_figure(f'<svg width="432pt" height="180pt">{text}</svg>')


def test_split_points_keep_decorators_with_their_function() -> None:
    source = "x = 1\n\n\n@jax.jit\ndef f(x):\n    return x\n\n\nf(x)"
    function = "@jax.jit\ndef f(x):\n    return x"
    assert split_points(source) == [
        ("x = 1", f"{function}\n\n\nf(x)"),
        (f"x = 1\n\n\n{function}", "f(x)"),
    ]
    assert not split_points("f(1)")


def test_split_sentences_ignores_periods_in_code_and_parentheses() -> None:
    text = "Call `f. Then` once. (It fails. Often.) Then `x` is 1.5 times as large."
    assert markdown.split_sentences(text) == [
        "Call `f. Then` once.",
        "(It fails. Often.)",
        "Then `x` is 1.5 times as large.",
    ]


def test_shorten_output_marks_what_it_leaves_out() -> None:
    text = "\n".join(f"line {number}" for number in range(20))
    short, is_cut = layout.shorten_output(text, 5)
    assert is_cut
    assert short.splitlines() == ["line 0", "line 1", "line 2", "line 3", "⋯"]
    assert layout.shorten_output("one\ntwo", 5) == ("one\ntwo", False)
    long, is_cut = layout.shorten_output("word " * 200, 2)
    assert is_cut
    assert long.endswith("⋯")


def test_make_deck_rejects_code_that_does_not_fit() -> None:
    cells = [
        nbformat.v4.new_markdown_cell("# A chapter\n\nIt fails.\n\n**In one minute**\n- Be brief."),
        nbformat.v4.new_markdown_cell("## A section"),
        nbformat.v4.new_code_cell("x = 1  # " + "long " * 40),
        nbformat.v4.new_markdown_cell("**Why.** It is long.\n\n**The fix** is to cut it."),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with pytest.raises(ValueError, match="must fit on two slides"):
        make_deck("99-test", notebook)


def test_read_deck_reports_chapter_without_notebook(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="was never executed"):
        read_deck(ChapterFiles(tmp_path / "99-test.md"))
