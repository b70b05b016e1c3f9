"""Print the built book to a single PDF file with a table of contents.

    .venv/bin/python -m book_tools pdf                       _build/pdf/jax-sharp-bits.pdf
    .venv/bin/python -m book_tools pdf chapters/01-tracing   only these pages

Chromium prints each page as it would for a reader, and the program then joins the pages. The links
between the pages point to a local server, so the program turns them into links inside the file.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypdf import PdfReader

from book_tools.project_metadata import ROOT
from book_tools.website.browser import NoBrowserError, open_chromium
from book_tools.website.pdf_contents import (
    PdfError,
    contents_html,
    find_anchors,
    numbers_html,
    read_entries,
)
from book_tools.website.pdf_links import join_pages
from book_tools.website.serve import HTML, serve_in_background

if TYPE_CHECKING:
    from playwright.sync_api import Page

OUT = ROOT / "_build" / "pdf" / "jax-sharp-bits.pdf"
# Load every image before printing, because lazy images would be missing from the PDF.
LOAD_IMAGES = """async () => {
    const images = [...document.querySelectorAll("article img")];
    images.forEach((image) => { image.loading = "eager"; });
    await Promise.all(images.map((image) => image.decode().catch(() => null)));
}"""
# Chromium writes a destination into the file only for ids to which the same page links. This script
# therefore adds an invisible link for each id to which other pages link.
LINK_TO = """(ids) => {
    const box = document.createElement("div");
    box.style.cssText = "font: 1px/1px serif; color: transparent; overflow: hidden; height: 1px";
    box.setAttribute("aria-hidden", "true");
    for (const id of ids) {
        if (!document.getElementById(id)) continue;
        const link = document.createElement("a");
        link.href = "#" + id;
        link.textContent = ".";
        box.append(link);
    }
    document.querySelector("article").append(box);
}"""
PRINT_OPTIONS: dict[str, Any] = {
    "format": "A4",
    "print_background": True,
    "prefer_css_page_size": False,
    "margin": {"top": "16mm", "bottom": "18mm", "left": "15mm", "right": "15mm"},
}


def _print_page(page: Page, url: str, anchors: Iterable[str]) -> PdfReader:
    """Print a page to PDF with a destination for each of the given ids."""
    page.goto(url, wait_until="load")
    page.evaluate(LOAD_IMAGES)
    page.evaluate(LINK_TO, sorted(anchors))
    return PdfReader(io.BytesIO(page.pdf(**PRINT_OPTIONS, outline=True, tagged=True)))


def print_book(out: Path = OUT, names: Sequence[str] = (), by: str = "", built: Path = HTML) -> int:
    """Print the built book, or only the named pages, and return the number of pages in the PDF.

    Args:
        out: The file to write, which is replaced atomically.
        names: The pages to print, such as ``chapters/01-tracing``, or an empty sequence for all.
        by: A line to print on the title page.
        built: The folder of the built book.

    Raises:
        PdfError: If the book has not been built, or if a name is not a page of the book.
        NoBrowserError: If Chromium is not on the PATH.
    """
    book = read_entries(built=built)
    if unknown := set(names) - {entry.name for entry in book}:
        raise PdfError(f"PAGE must be in the table of contents, got {', '.join(sorted(unknown))}")
    book = [entry for entry in book if not names or entry.name in names]
    anchors = find_anchors([entry.name for entry in book], built)
    with serve_in_background(built) as address, open_chromium() as browser:
        page = browser.new_page(color_scheme="light")

        def print_html(text: str, **options: Any) -> PdfReader:
            page.set_content(text)
            return PdfReader(io.BytesIO(page.pdf(**PRINT_OPTIONS | options)))

        printed = {}
        for entry in book:
            print(f"  {entry.title}", flush=True)
            printed[entry.name] = _print_page(
                page, f"{address}{entry.name}.html", anchors[entry.name]
            )
        # The page numbers in the contents depend on their length, so print the contents twice.
        starts = dict.fromkeys(printed, 0)
        number = len(print_html(contents_html(book, starts, by)).pages) + 1
        for name, reader in printed.items():
            starts[name] = number
            number += len(reader.pages)
        front = print_html(contents_html(book, starts, by))
        numbers = print_html(numbers_html(number - 1), margin={})
    writer = join_pages(book, printed, front, numbers, address)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    with part.open("wb") as file:
        writer.write(file)
    part.replace(out)
    return len(writer.pages)


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="PAGE", help="pages to print; all by default")
    parser.add_argument("--out", type=Path, default=OUT, help="the file to write")
    options = parser.parse_args(arguments)
    print("Printing the book …", flush=True)
    try:
        count = print_book(
            options.out, options.names, by="Code: Apache-2.0. Text and figures: CC BY 4.0."
        )
    except (PdfError, NoBrowserError, OSError) as error:
        print(f"The PDF file was not created: {error}", file=sys.stderr)
        return 1
    where = options.out
    shown = where.relative_to(ROOT) if where.is_relative_to(ROOT) else where
    size = where.stat().st_size / 1e6
    print(f"{shown} has {count} pages ({size:.0f} MB)")
    return 0
