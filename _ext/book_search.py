"""Replace Sphinx's search with the book's own.

`book_tools.website.search_index` writes the index, and _static/search.js reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

# This script highlights the results of Sphinx's own search, which the book does not use.
NOT_LOADED = "sphinx_highlight.js"


def _disable_sphinx_index(app: Sphinx) -> None:
    if isinstance(app.builder, StandaloneHTMLBuilder):
        app.builder.search = False


def _add_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    yield "search", {"title": "Search"}, "search.html"


def _drop_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    context["script_files"] = [
        script
        for script in context["script_files"]
        if NOT_LOADED not in str(getattr(script, "filename", None) or "")
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _disable_sphinx_index)
    app.connect("html-collect-pages", _add_page)
    app.connect("html-page-context", _drop_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
