"""Test that printed pages are unfolded, white, and complete and that the PDF has every page."""

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
PAPER_WIDTH = 700  # CSS pixels between the margins of an A4 page


@pytest.fixture(scope="module", params=["light", pytest.param("dark", marks=pytest.mark.slow)])
def printed_page(request: pytest.FixtureRequest, browser: Browser, site: str) -> Iterator[Page]:
    """Open a chapter in the print layout, once per theme."""
    page = browser.new_page(
        color_scheme=request.param, viewport={"width": PAPER_WIDTH, "height": 1000}
    )
    page.goto(f"{site}/{CHAPTER}.html")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    yield page
    page.close()


def test_printed_page_has_dark_text_on_white(printed_page: Page) -> None:
    colors = printed_page.evaluate(
        """() => ["html", "body", ".bd-main", ".bd-article"].map(
             (name) => getComputedStyle(document.querySelector(name)).backgroundColor)"""
    )
    assert set(colors) <= {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}
    ink = printed_page.evaluate("getComputedStyle(document.querySelector('article p')).color")
    assert max(int(part) for part in ink[4:-1].split(",")) < 100, ink


def test_printed_page_opens_every_fold(printed_page: Page) -> None:
    folds = printed_page.locator("article details")
    assert folds.count() > 30
    hidden = folds.evaluate_all(
        """(all) => all
             .filter((fold) => !fold.open
                            || fold.scrollHeight <= fold.firstElementChild.offsetHeight)
             .map((fold) => fold.textContent.slice(0, 80))"""
    )
    assert not hidden


def test_printed_page_clips_nothing(printed_page: Page) -> None:
    clipped = printed_page.locator("article :is(pre, table, img, .output)").evaluate_all(
        """(all) => all
             .filter((e) => e.getBoundingClientRect().width > 0
                         && (e.getBoundingClientRect().right > innerWidth + 1
                             || (e.scrollWidth > e.clientWidth + 1
                                 && getComputedStyle(e).overflowX !== "visible")))
             .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert not clipped


def test_printed_page_hides_navigation(printed_page: Page) -> None:
    for name in (".bd-header", ".bd-sidebar-primary", ".bd-sidebar-secondary", "button.copybtn"):
        assert not printed_page.locator(name).first.is_visible(), name
    assert printed_page.locator("article h1").first.is_visible()


def test_afterprint_restores_theme_and_folds(browser: Browser, site: str) -> None:
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
def pdf_reader(built: Path, tmp_path_factory: pytest.TempPathFactory) -> PdfReader:
    """Print three pages of the book to one PDF, and return its reader."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    out = tmp_path_factory.mktemp("pdf") / "book.pdf"
    names = ["intro", CHAPTER, "reference/glossary"]
    code = (
        "import pathlib\nfrom book_tools.website import pdf\n"
        f"pdf.print_book(pathlib.Path({str(out)!r}), {names!r}, built=pathlib.Path({str(built)!r}))"
    )
    run_python(code)
    return PdfReader(out)


def run_python(code: str) -> None:
    """Run code in a new process, because Playwright already runs an event loop in this one."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(project_metadata.ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_read_entries_returns_every_page() -> None:
    assert [entry.name for entry in pdf.read_entries()] == PAGES


@pytest.mark.slow
def test_pdf_contains_folded_text(pdf_reader: PdfReader, built: Path) -> None:
    # The PDF has its own line breaks and may use ligatures, so compare only letters and digits.
    def letters_and_digits(text: str) -> str:
        return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text)))

    text = letters_and_digits("".join(page.extract_text() for page in pdf_reader.pages))
    page = BeautifulSoup((built / f"{CHAPTER}.html").read_text("utf8"), "html.parser")
    for fold in ("details.predict", "details.claims", "details.solution"):
        for found in page.select(f"article {fold}"):
            found.summary.extract()  # type: ignore[union-attr]
            start = letters_and_digits(found.get_text())[:20]
            assert start in text, f"{fold}: {start}"


@pytest.mark.slow
def test_pdf_contents_have_correct_page_numbers(pdf_reader: PdfReader) -> None:
    contents = pdf_reader.pages[1].extract_text()
    top_items = [item for item in pdf_reader.outline if not isinstance(item, list)]
    assert top_items[0].title == "Contents"
    assert "Out-of-bounds indexing" in [item.title for item in top_items]
    for item in top_items[1:]:
        number = pdf_reader.get_destination_page_number(item)
        assert number is not None
        assert f"{item.title} {number + 1}" in contents.split("\n")
        assert pdf_reader.pages[number].extract_text().rstrip().endswith(str(number + 1))


@pytest.mark.slow
def test_pdf_links_lead_into_pdf_or_to_web(pdf_reader: PdfReader) -> None:
    targets: dict[str, list[int]] = {"inside": [], "web": []}
    for page in pdf_reader.pages:
        for reference in page.get("/Annots", ()):
            action = reference.get_object()["/A"]
            if action["/S"] == "/GoTo":
                found = pdf_reader.get_page_number(action["/D"][0].get_object())
                assert found is not None
                targets["inside"].append(found)
            else:
                assert action["/URI"].startswith("https://")
                assert "127.0.0.1" not in action["/URI"]
                assert ".invalid" not in action["/URI"]
                targets["web"].append(0)
    # Links from terms must lead to the glossary's entries, not just to its first page.
    glossary = next(
        pdf_reader.get_destination_page_number(item)
        for item in pdf_reader.outline
        if not isinstance(item, list) and item.title == "Glossary"
    )
    assert glossary is not None
    assert any(target > glossary for target in targets["inside"])
    assert targets["web"]


@pytest.mark.slow
def test_pdf_main_names_missing_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert pdf.main(["chapters/99-nothing"]) == 1
    assert "PAGE must be in the table of contents, got chapters/99" in capsys.readouterr().err
