"""Give each page a title, a description, and the metadata that other sites show next to a link.

Tags that contain the book's address (`html_baseurl`) are omitted until the book has an address.
"""

from __future__ import annotations

import html
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
IMAGE = "_static/social.png"
IMAGE_ALT = (
    "JAX sharp bits: the traps of JAX, each one run, explained, and fixed. "
    "Below the title, ten numbered cells: x[11] reads cell 9, and x[-11] reads cell 0."
)
# Search engines should not list these pages.
HIDDEN = {"404", "search"}
_VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>\s*')
_TAG = re.compile(r"<[^>]+>")


def descriptions(path: Path = HERE / "descriptions.toml") -> dict[str, str]:
    """Return a dict that maps the name of each page to its description."""
    with path.open("rb") as file:
        found: dict[str, str] = tomllib.load(file)
    return found


def plain_text(markup: str) -> str:
    """Return the text of an HTML fragment on one line.

    Example:
        >>> plain_text("<code>jit</code> &amp; co<a href='#'>#</a>")
        'jit & co#'
    """
    return " ".join(html.unescape(_TAG.sub("", markup)).split())


def page_title(heading: str, book: str) -> str:
    """Return the title of a page, which consists of the page's heading and the book's name.

    Args:
        heading: The page's heading. If it is the book's name, the name is not repeated.
        book: The book's name.

    Example:
        >>> page_title("Errors", "JAX sharp bits")
        'Errors – JAX sharp bits'
        >>> page_title("JAX sharp bits", "JAX sharp bits")
        'JAX sharp bits'
    """
    return book if heading == book else f"{heading} – {book}"


def _describe(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    book = app.config.project
    site = app.config.html_baseurl
    heading = plain_text(context.get("title") or "")
    if not heading:  # This is the index, whose template contains its title.
        heading = app.env.titles[pagename].astext() if pagename in app.env.titles else book
    if pagename == "search":  # Its template puts "Search - " before the title.
        context["title"] = book
    is_root = pagename == app.config.root_doc
    context["head"] = {
        "title": page_title(heading, book),
        "heading": heading,
        "site_name": book,
        "kind": "website" if is_root else "article",
        "description": descriptions().get(pagename, ""),
        "hidden": pagename in HIDDEN,
        "url": context.get("pageurl") if site and pagename not in HIDDEN else None,
        "image": urljoin(site, IMAGE) if site else None,
        "image_alt": IMAGE_ALT,
    }
    if pagename in HIDDEN:
        context["pageurl"] = None
    # Sphinx, docutils, and the theme each add a viewport tag, so remove the duplicates.
    context["metatags"] = _VIEWPORT.sub("", context.get("metatags") or "")
    # Without JavaScript, a page uses this theme. Code is colored only if a theme is set.
    context["default_mode"] = "light"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("html-page-context", _describe, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
