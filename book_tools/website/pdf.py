"""Print the built book to one PDF file, with a table of contents.

    .venv/bin/python -m book_tools pdf                       _build/pdf/jax-sharp-bits.pdf
    .venv/bin/python -m book_tools pdf chapters/01-tracing   these pages only

Chromium prints each page as it would for a reader. This program then joins the pages. Links between
them point to the server that Chromium printed from, so it turns them into links inside the file.
"""

from __future__ import annotations

import argparse
import html
import io
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag, urlsplit

import yaml
from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NullObject

from book_tools.project_metadata import ROOT
from book_tools.website.serve import HTML, listen

if TYPE_CHECKING:
    from playwright.sync_api import Page

OUT = ROOT / "_build" / "pdf" / "jax-sharp-bits.pdf"
# Load every image before printing, because a paragraph or a fold is useless in print if its picture
# is still missing.
LOAD_IMAGES = """async () => {
    const images = [...document.querySelectorAll("article img")];
    images.forEach((image) => { image.loading = "eager"; });
    await Promise.all(images.map((image) => image.decode().catch(() => null)));
}"""
# Chromium writes a destination into the file only for an id that the same page links to. Therefore
# this adds a link, too small to be seen, for each id that other pages link to.
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
CONTENTS = """<!doctype html><html lang="en"><meta charset="utf-8"><title>JAX sharp bits</title>
<style>
body {{ font: 10.5pt/1.5 system-ui, sans-serif; color: #1c2733; margin: 0; }}
h1 {{ font-size: 26pt; margin: 40mm 0 4mm; }} .by {{ break-after: page; color: #51606f; }}
h2 {{ font-size: 12pt; margin: 6mm 0 1mm; break-after: avoid; }}
ol {{ list-style: none; margin: 0; padding: 0; }}
li {{ display: flex; gap: 2mm; border-bottom: 0.2mm dotted #a0adba; }}
li a {{ flex: 1; color: inherit; text-decoration: none; }}
</style>
<h1>JAX sharp bits</h1><p class="by">{by}</p><h1 style="font-size:18pt;margin-top:0">Contents</h1>
{parts}</html>"""
NUMBERS = """<!doctype html><meta charset="utf-8"><style>
div {{ break-after: page; height: 240mm; }} div:last-child {{ break-after: auto; }}
@page {{ margin: 0; }} body {{ margin: 0; }}
span {{ position: relative; top: 284mm; display: block; text-align: center;
  font: 8.5pt system-ui, sans-serif; color: #51606f; }}
</style>{numbers}"""


class PdfError(Exception):
    """The PDF cannot be made; the message says why in one line."""


@dataclass(frozen=True)
class Entry:
    """One page of the book in the table of contents.

    Attributes:
        name: the page's path without ``.html``, such as ``chapters/01-tracing``.
        title: its heading.
        part: the caption of the part it belongs to, empty for the first page.
    """

    name: str
    title: str
    part: str


def entries(root: Path = ROOT, built: Path = HTML) -> list[Entry]:
    """Return the pages of the book in the order of the table of contents.

    Raises:
        PdfError: a page of the table of contents has not been built.
    """
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf8"))
    named = [(toc["root"], "")]
    named += [(page["file"], part["caption"]) for part in toc["parts"] for page in part["chapters"]]
    found = []
    for name, part in named:
        path = built / f"{name}.html"
        if not path.exists():
            raise PdfError(f"{path.name} has not been built; run: make book")
        found.append(Entry(name, title(path.read_text("utf8")) or name, part))
    return found


def title(page: str) -> str:
    """Return the text of a page's first heading.

    Example:
        >>> title('<h1><code>at</code> &amp; co<a class="headerlink" href="#at">#</a></h1>')
        'at & co'
    """
    from bs4 import BeautifulSoup

    heading = BeautifulSoup(page, "html.parser").find("h1")
    if heading is None:
        return ""
    for link in heading.select("a.headerlink"):
        link.decompose()
    return " ".join(heading.get_text().split())


def links_between(names: Sequence[str], built: Path = HTML) -> dict[str, set[str]]:
    """Return, for each page, the ids on it that other pages link to."""
    from bs4 import BeautifulSoup

    wanted: dict[str, set[str]] = {name: set() for name in names}
    for name in names:
        soup = BeautifulSoup((built / f"{name}.html").read_text("utf8"), "html.parser")
        article = soup.find("article")
        for link in article.find_all("a", href=True) if article else ():
            path, anchor = urldefrag(str(link["href"]))
            if not anchor or urlsplit(path).scheme or not path.endswith(".html"):
                continue
            target = os.path.normpath(f"{Path(name).parent}/{path}").removesuffix(".html")
            if target in wanted:
                wanted[target].add(unquote(anchor))
    return wanted


def _print(page: Page, url: str, anchors: Iterable[str]) -> PdfReader:
    page.goto(url, wait_until="load")
    page.evaluate(LOAD_IMAGES)
    page.evaluate(LINK_TO, sorted(anchors))
    return PdfReader(io.BytesIO(page.pdf(**PRINT_OPTIONS, outline=True, tagged=True)))


def _contents(book: Sequence[Entry], starts: Mapping[str, int], by: str) -> str:
    """Return the HTML of the title page and the contents; starts are pages, counted from 1."""
    parts: dict[str, list[str]] = {}
    for entry in book:
        item = (
            f'<li><a href="https://book.invalid/{entry.name}">{html.escape(entry.title)}</a>'
            f"<span>{starts[entry.name]}</span></li>"
        )
        parts.setdefault(entry.part, []).append(item)
    lists = [
        (f"<h2>{html.escape(part)}</h2>" if part else "") + f"<ol>{''.join(items)}</ol>"
        for part, items in parts.items()
    ]
    return CONTENTS.format(by=html.escape(by), parts="\n".join(lists))


def _numbers(count: int) -> str:
    return NUMBERS.format(
        numbers="".join(f"<div><span>{number}</span></div>" for number in range(1, count + 1))
    )


def _explicit(page: PageObject, top: float | None) -> ArrayObject:
    """Return a PDF destination at the given height of a page."""
    reference = page.indirect_reference
    assert reference is not None
    where = NullObject() if top is None else FloatObject(top)
    return ArrayObject([reference, NameObject("/XYZ"), NullObject(), where, NullObject()])


def _relink(page: PageObject, resolve: Callable[[str], ArrayObject | None], server: str) -> None:
    """Turn a page's links into links inside the file where possible, and drop dead ones.

    Args:
        page: a page of the joined file.
        resolve: returns the destination for a link's address or local name, or None.
        server: the address that the pages were printed from.
    """
    kept = ArrayObject()
    for reference in page.get("/Annots", ()):
        annotation = reference.get_object()
        action = annotation.get("/A", {})
        named = annotation.get("/Dest") or action.get("/D")
        address = str(action.get("/URI", ""))
        link = address or (f"#{str(named).removeprefix('/')}" if named is not None else "")
        destination = resolve(link) if link else None
        if destination is not None:
            annotation.pop("/Dest", None)
            annotation[NameObject("/A")] = DictionaryObject(
                {NameObject("/S"): NameObject("/GoTo"), NameObject("/D"): destination}
            )
        elif not address or address.startswith(server):
            continue  # the target is not in the file, for example a notebook to download
        kept.append(reference)
    if kept or "/Annots" in page:
        page[NameObject("/Annots")] = kept


def join(
    book: Sequence[Entry],
    printed: Mapping[str, PdfReader],
    front: PdfReader,
    numbers: PdfReader,
    server: str,
) -> PdfWriter:
    """Join the printed pages after the front matter, and fix the links between them.

    Args:
        book: the pages in their order.
        printed: the PDF of each page, by the page's name.
        front: the title page and the contents.
        numbers: a PDF with as many pages as the whole file, each with its number at the bottom.
        server: the address that the pages were printed from, with a slash at the end.
    """
    writer = PdfWriter()
    writer.append(front, outline_item="Contents", import_outline=False)
    first: dict[str, int] = {}
    tops: dict[tuple[str, str], tuple[int, float | None]] = {}
    for entry in book:
        reader = printed[entry.name]
        first[entry.name] = len(writer.pages)
        for name, destination in reader.named_destinations.items():
            number = reader.get_destination_page_number(destination)
            if number is not None:
                top = destination.top
                at = float(top) if isinstance(top, int | float) else None
                anchor = unquote(str(name).removeprefix("/"))
                tops[entry.name, anchor] = (first[entry.name] + number, at)
        writer.append(reader, import_outline=True)  # the page's first heading is its entry

    def resolver(here: str) -> Callable[[str], ArrayObject | None]:
        def resolve(link: str) -> ArrayObject | None:
            path, anchor = urldefrag(link)
            for root in (server, "https://book.invalid/"):
                path = path.removeprefix(root)
            name = path.split("?")[0].removesuffix(".html") or here
            if name not in first:
                return None
            number, top = tops.get((name, unquote(anchor)), (first[name], None))
            return _explicit(writer.pages[number], top)

        return resolve

    bounds = [*first.values(), len(writer.pages)]
    sections = [("", 0, bounds[0])]
    sections += [(e.name, bounds[n], bounds[n + 1]) for n, e in enumerate(book)]
    for name, begin, end in sections:
        for number in range(begin, end):
            page = writer.pages[number]
            _relink(page, resolver(name), server)
            if name:
                page.merge_page(numbers.pages[number])
                page.compress_content_streams()  # because merging decompresses them
    writer.add_metadata({"/Title": "JAX sharp bits", "/Author": "the authors of JAX sharp bits"})
    writer.page_mode = "/UseOutlines"
    writer.compress_identical_objects()
    return writer


@contextmanager
def _browser() -> Iterator[Page]:
    """Yield a Chromium page that shows the light theme.

    Raises:
        PdfError: there is no Chromium on this machine.
    """
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise PdfError("chromium must be on the PATH; on Debian, run: apt install chromium")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser.new_page(color_scheme="light")
        browser.close()


def make(out: Path = OUT, names: Sequence[str] = (), by: str = "", built: Path = HTML) -> int:
    """Print the built book, or only the named pages, and return the number of pages.

    Args:
        out: the file, which is replaced in one step.
        names: pages such as ``chapters/01-tracing``; all pages if empty.
        by: a line for the title page.
        built: the folder of the built book.

    Raises:
        PdfError: the book is not built, a name is not a page of it, or there is no Chromium.
    """
    book = entries(built=built)
    if unknown := set(names) - {entry.name for entry in book}:
        raise PdfError(f"pages must be in the table of contents, got {', '.join(sorted(unknown))}")
    book = [entry for entry in book if not names or entry.name in names]
    wanted = links_between([entry.name for entry in book], built)
    server = listen(8000, built)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    try:
        with _browser() as page:
            printed = {}
            for entry in book:
                print(f"  {entry.title}", flush=True)
                printed[entry.name] = _print(
                    page, f"{address}{entry.name}.html", wanted[entry.name]
                )

            def rendered(text: str, **options: Any) -> PdfReader:
                page.set_content(text)
                return PdfReader(io.BytesIO(page.pdf(**PRINT_OPTIONS | options)))

            # The page numbers in the contents depend on how long the contents are.
            starts = dict.fromkeys(printed, 0)
            length = len(rendered(_contents(book, starts, by)).pages)
            number = length + 1
            for name, reader in printed.items():
                starts[name] = number
                number += len(reader.pages)
            front = rendered(_contents(book, starts, by))
            numbers = rendered(_numbers(number - 1), margin={})
    finally:
        server.shutdown()
        server.server_close()
    writer = join(book, printed, front, numbers, address)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    with part.open("wb") as file:
        writer.write(file)
    part.replace(out)
    return len(writer.pages)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="PAGE", help="pages to print; all by default")
    parser.add_argument("--out", type=Path, default=OUT, help="the file to write")
    options = parser.parse_args(arguments)
    print("Printing the book …", flush=True)
    try:
        count = make(
            options.out, options.names, by="Code: Apache-2.0. Text and figures: CC BY 4.0."
        )
    except (PdfError, OSError) as error:
        print(f"The PDF was not made: {error}", file=sys.stderr)
        return 1
    where = options.out
    shown = where.relative_to(ROOT) if where.is_relative_to(ROOT) else where
    size = where.stat().st_size / 1e6
    print(f"{shown} has {count} pages ({size:.0f} MB)")
    return 0
