"""Render a student's Markdown as HTML, keeping only allow-listed tags and attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from bleach.css_sanitizer import CSSSanitizer  # type: ignore[import-untyped]
from bleach.html5lib_shim import Filter  # type: ignore[import-untyped]
from bleach.sanitizer import Cleaner  # type: ignore[import-untyped]
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from jaxbits_grader.reporting.feedback.image_validation import is_image_uri
from jaxbits_grader.reporting.feedback.text import printable

# The running time of html5lib is quadratic in the number of unclosed tags.
MAX_TAGS = 400


def render_markdown(source: str, attachments: Any) -> str:
    """Render Markdown as HTML, or as preformatted text if rendering fails.

    Args:
        source: The source of the cell.
        attachments: The attachments of the cell, which the student may have set to any value.
    """
    try:
        if source.count("<") > MAX_TAGS:
            raise ValueError("too many tags")
        files = attachments if isinstance(attachments, dict) else {}
        # The renderer can safely let raw HTML through, because bleach cleans the result.
        renderer = IPythonRenderer(escape=False, exclude_anchor_links=True, attachments=files)
        return str(_CLEANER.clean(MarkdownWithMath(renderer=renderer).render(printable(source))))
    except Exception:  # The renderer's plugins can raise any exception.
        return f'<pre class="wrap">{escape(printable(source))}</pre>'


def _is_allowed_attribute(tag: str, name: str, value: str) -> bool:
    if (tag, name) == ("a", "href"):
        return re.match(r"(https?://|mailto:)", value) is not None
    if (tag, name) == ("img", "src"):
        return is_image_uri(value)
    if name == "class":  # Pygments uses these classes to highlight code.
        return re.fullmatch(r"highlight|[a-z]{1,2}[0-9]?", value) is not None
    if name == "style":
        return tag in ("td", "th") and re.fullmatch(r"text-align: ?[a-z]+;?", value) is not None
    return (tag, name) in {("img", "alt"), ("ol", "start"), ("details", "open")}


class _AdaptToPage(Filter):  # type: ignore[misc]
    """Adapts a student's Markdown to the page.

    The filter turns headings into subheadings of the page's own headings, makes wide tables
    scrollable with the keyboard, gives images alternative text, and replaces disallowed images with
    a note.
    """

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for token in super().__iter__():
            name = token.get("name") or ""
            if re.fullmatch("h[1-6]", name):
                token["name"] = f"h{min(int(name[1]) + 2, 6)}"
            if name == "table" and token["type"] == "StartTag":
                token["data"][None, "tabindex"] = "0"  # Make a wide table scrollable by keyboard.
            if name == "img":
                alt = token["data"].get((None, "alt")) or "image in the text"
                token["data"][None, "alt"] = alt
                if (None, "src") not in token["data"]:
                    token = {"type": "Characters", "data": f"[left out: {alt[:200]}]"}
            yield token


_ALLOWED_TAGS = """
a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li
mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul"""
_CLEANER = Cleaner(
    tags=frozenset(_ALLOWED_TAGS.split()),
    attributes=_is_allowed_attribute,
    protocols=frozenset({"http", "https", "mailto", "data"}),
    strip=True,
    filters=[_AdaptToPage],
    css_sanitizer=CSSSanitizer(allowed_css_properties=["text-align"]),
)
