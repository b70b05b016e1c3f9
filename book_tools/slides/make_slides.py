"""Make lecture slides of the chapters from their executed notebooks.

    python -m book_tools slides                     all chapters, as HTML and PDF
    python -m book_tools slides 04-out-of-bounds    only this chapter
    python -m book_tools slides --no-pdf            only HTML, which needs no Chromium

The files are in ``_build/slides``. Each HTML file contains everything that it shows, so it also
works without a network.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from book_tools.chapters.chapter_files import (
    ChapterFileError,
    ChapterFiles,
    find_chapters,
    read_stored,
)
from book_tools.files import write_if_changed
from book_tools.pages.html_utils import count_noun
from book_tools.pages.syllabus_source import read_syllabus
from book_tools.project_metadata import ROOT
from book_tools.slides.deck import make_deck
from book_tools.slides.layout import HEIGHT, WIDTH
from book_tools.slides.render import render_deck
from book_tools.slides.slide import Deck
from book_tools.website.browser import NoBrowserError, open_chromium

OUT = ROOT / "_build" / "slides"


def read_deck(chapter: ChapterFiles) -> Deck:
    """Return the slides of a chapter.

    Raises:
        ChapterFileError: If the chapter was never executed.
    """
    notebook = read_stored(chapter)
    if notebook is None:
        raise ChapterFileError(
            f"{chapter.name} was never executed; run: make chapter NAME={chapter.name}"
        )
    return make_deck(chapter.name, notebook, read_syllabus().questions(chapter.name))


def write_decks(chapters: Iterable[ChapterFiles], out: Path = OUT) -> list[Path]:
    """Write the slides of chapters as HTML files, and return their paths.

    Raises:
        ChapterFileError: If a chapter was never executed.
    """
    paths = []
    for chapter in chapters:
        path = out / f"{chapter.name}.html"
        write_if_changed(path, render_deck(read_deck(chapter)))
        paths.append(path)
    return paths


def print_decks(paths: Iterable[Path]) -> list[Path]:
    """Print HTML slides to PDF files next to them, and return the paths of the PDF files.

    Raises:
        NoBrowserError: If Chromium is not on the PATH.
    """
    printed = []
    with open_chromium() as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for path in paths:
            page.goto(path.resolve().as_uri(), wait_until="load")
            target = path.with_suffix(".pdf")
            page.pdf(
                path=target,
                width=f"{WIDTH}px",
                height=f"{HEIGHT}px",
                print_background=True,
                tagged=True,
            )
            printed.append(target)
    return printed


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="chapters; all by default")
    parser.add_argument("--no-pdf", action="store_true", help="write only HTML files")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder to write to")
    options = parser.parse_args(arguments)
    try:
        paths = write_decks(find_chapters(options.names), options.out)
        made = paths if options.no_pdf else [*paths, *print_decks(paths)]
        where = options.out.relative_to(ROOT) if options.out.is_relative_to(ROOT) else options.out
        chapters, files = count_noun(len(paths), "chapter"), count_noun(len(made), "file")
        print(f"{where} has the slides of {chapters} in {files}")
    except (ChapterFileError, NoBrowserError, OSError) as error:
        print(f"The slides were not created: {error}", file=sys.stderr)
        return 1
    return 0
