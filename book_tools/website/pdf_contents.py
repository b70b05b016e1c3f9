"""Generate the title page and the contents of the PDF, and find the links between its pages."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import yaml
from bs4 import BeautifulSoup

from book_tools.project_metadata import ROOT
from book_tools.website.serve import HTML

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
    """Raised if the PDF file cannot be created. The message says why on one line."""


@dataclass(frozen=True)
class Entry:
    """A page of the book that is listed in the table of contents.

    Attributes:
        name: The page's path without ``.html``, such as ``chapters/01-tracing``.
        title: The page's heading.
        part: The caption of the page's part, or an empty string for the first page.
    """

    name: str
    title: str
    part: str


def read_entries(root: Path = ROOT, built: Path = HTML) -> list[Entry]:
    """Return the book's pages in the order of the table of contents.

    Args:
        root: The project's folder, which contains _toc.yml.
        built: The folder of the built book.

    Raises:
        PdfError: If a page in the table of contents has not been built.
    """
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf8"))
    named = [(toc["root"], "")]
    named += [(page["file"], part["caption"]) for part in toc["parts"] for page in part["chapters"]]
    found = []
    for name, part in named:
        path = built / f"{name}.html"
        if not path.exists():
            raise PdfError(f"{path.name} has not been built; run: make book")
        found.append(Entry(name, page_title(path.read_text("utf8")) or name, part))
    return found


def page_title(page: str) -> str:
    """Return the text of a page's first heading.

    Example:
        >>> page_title('<h1><code>at</code> &amp; co<a class="headerlink" href="#at">#</a></h1>')
        'at & co'
    """
    heading = BeautifulSoup(page, "html.parser").find("h1")
    if heading is None:
        return ""
    for link in heading.select("a.headerlink"):
        link.decompose()
    return " ".join(heading.get_text().split())


def find_anchors(names: Sequence[str], built: Path = HTML) -> dict[str, set[str]]:
    """Return, for each page, the ids on it that other pages link to.

    Args:
        names: The names of the pages in the PDF file, such as ``chapters/01-tracing``.
        built: The folder of the built book.
    """
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


def contents_html(book: Sequence[Entry], starts: Mapping[str, int], by: str) -> str:
    """Return the HTML of the title page and the contents.

    Args:
        book: The pages of the book, in order.
        starts: The number of each page's first sheet, counted from 1.
        by: A line to print on the title page.
    """
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


def numbers_html(count: int) -> str:
    """Return HTML that prints `count` sheets, blank except for a page number at the bottom."""
    return NUMBERS.format(
        numbers="".join(f"<div><span>{number}</span></div>" for number in range(1, count + 1))
    )
