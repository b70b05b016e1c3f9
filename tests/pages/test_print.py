"""The book on paper: unfolded, on white, nothing cut off; and all of it in one PDF."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from contents import PAGES
from playwright.sync_api import Browser, Page
from pypdf import PdfReader
from pytest_plugins.browser import CHROMIUM

from book_tools import project_metadata
from book_tools.website import pdf

CHAPTER = "chapters/04-out-of-bounds"
PAPER = 700  # CSS pixels between the margins of an A4 page


@pytest.fixture(params=["light", "dark"])
def printed(request: pytest.FixtureRequest, browser: Browser, site: str) -> Iterator[Page]:
    """A chapter as it is laid out for printing, in either theme."""
    page = browser.new_page(color_scheme=request.param, viewport={"width": PAPER, "height": 1000})
    page.goto(f"{site}/{CHAPTER}.html")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    yield page
    page.close()


def test_paper_is_white_and_ink_dark(printed: Page) -> None:
    colors = printed.evaluate(
        """() => ["html", "body", ".bd-main", ".bd-article"].map(
             (name) => getComputedStyle(document.querySelector(name)).backgroundColor)"""
    )
    assert set(colors) <= {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}
    ink = printed.evaluate("getComputedStyle(document.querySelector('article p')).color")
    assert max(int(part) for part in ink[4:-1].split(",")) < 100, ink


def test_every_fold_is_open(printed: Page) -> None:
    folds = printed.locator("article details")
    assert folds.count() > 30
    hidden = folds.evaluate_all(
        """(all) => all
             .filter((fold) => !fold.open
                            || fold.scrollHeight <= fold.firstElementChild.offsetHeight)
             .map((fold) => fold.textContent.slice(0, 80))"""
    )
    assert not hidden


def test_nothing_is_cut_off(printed: Page) -> None:
    cut = printed.locator("article :is(pre, table, img, .output)").evaluate_all(
        """(all) => all
             .filter((e) => e.getBoundingClientRect().width > 0
                         && (e.getBoundingClientRect().right > innerWidth + 1
                             || (e.scrollWidth > e.clientWidth + 1
                                 && getComputedStyle(e).overflowX !== "visible")))
             .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert not cut


def test_only_the_text_is_printed(printed: Page) -> None:
    for name in (".bd-header", ".bd-sidebar-primary", ".bd-sidebar-secondary", "button.copybtn"):
        assert not printed.locator(name).first.is_visible(), name
    assert printed.locator("article h1").first.is_visible()


def test_after_printing_everything_is_as_before(browser: Browser, site: str) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto(f"{site}/{CHAPTER}.html")
    page.locator("article details.predict summary").first.click()
    state = """() => [document.documentElement.dataset.theme,
                      [...document.querySelectorAll("details")].map((fold) => fold.open)]"""
    before = page.evaluate(state)
    for event in ("beforeprint", "afterprint"):
        page.evaluate("(event) => dispatchEvent(new Event(event))", event)
    assert page.evaluate(state) == before
    page.close()


@pytest.fixture(scope="module")
def whole(built: Path, tmp_path_factory: pytest.TempPathFactory) -> PdfReader:
    """Three pages of the book as one PDF."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: no PDF is made")
    out = tmp_path_factory.mktemp("pdf") / "book.pdf"
    names = ["intro", CHAPTER, "reference/glossary"]
    code = (
        "import pathlib\nfrom book_tools.website import pdf\n"
        f"pdf.print_book(pathlib.Path({str(out)!r}), {names!r}, built=pathlib.Path({str(built)!r}))"
    )
    run_python(code)
    return PdfReader(out)


def run_python(code: str) -> None:
    """Run code in a process of its own: Playwright holds one event loop open in this one."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(project_metadata.ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_pdf_has_every_page_of_the_book() -> None:
    assert [entry.name for entry in pdf.read_entries()] == PAGES


def test_the_pdf_holds_what_is_folded(whole: PdfReader, built: Path) -> None:
    # Fonts write fi and fl as one glyph; what is compared are letters and digits.
    def plain(text: str) -> str:
        return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text)))

    text = plain("".join(page.extract_text() for page in whole.pages))
    page = BeautifulSoup((built / f"{CHAPTER}.html").read_text("utf8"), "html.parser")
    for fold in ("details.predict", "details.claims", "details.solution"):
        for found in page.select(f"article {fold}"):
            found.summary.extract()  # type: ignore[union-attr]
            start = plain(found.get_text())[:20]
            assert start in text, f"{fold}: {start}"


def test_the_pdf_has_contents_with_the_right_numbers(whole: PdfReader) -> None:
    contents = whole.pages[1].extract_text()
    tops = [item for item in whole.outline if not isinstance(item, list)]
    assert tops[0].title == "Contents"
    assert "Out-of-bounds indexing" in [item.title for item in tops]
    for item in tops[1:]:
        number = whole.get_destination_page_number(item)
        assert number is not None
        assert f"{item.title} {number + 1}" in contents.split("\n")
        assert whole.pages[number].extract_text().rstrip().endswith(str(number + 1))


def test_links_lead_inside_the_pdf_or_to_the_web(whole: PdfReader) -> None:
    targets: dict[str, list[int]] = {"inside": [], "web": []}
    for page in whole.pages:
        for reference in page.get("/Annots", ()):
            action = reference.get_object()["/A"]
            if action["/S"] == "/GoTo":
                found = whole.get_page_number(action["/D"][0].get_object())
                assert found is not None
                targets["inside"].append(found)
            else:
                assert action["/URI"].startswith("https://")
                assert "127.0.0.1" not in action["/URI"]
                assert ".invalid" not in action["/URI"]
                targets["web"].append(0)
    # Terms lead to the glossary's entries, not only to its first page.
    glossary = next(
        whole.get_destination_page_number(item)
        for item in whole.outline
        if not isinstance(item, list) and item.title == "Glossary"
    )
    assert glossary is not None
    assert any(target > glossary for target in targets["inside"])
    assert targets["web"]


def test_a_page_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert pdf.main(["chapters/99-nothing"]) == 1
    assert "PAGE must be in the table of contents, got chapters/99" in capsys.readouterr().err
