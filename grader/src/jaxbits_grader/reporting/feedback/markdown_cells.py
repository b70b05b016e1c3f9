"""A student's text cells as HTML: rendered, and of that only what the list below allows."""

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
from jaxbits_grader.reporting.feedback.text_rendering import printable

# The parser of HTML takes the square of their number where tags are never closed.
TAGS = 400


def rendered(source: str, attachments: Any) -> str:
    """A text cell's source as HTML; as it stands where it cannot be rendered, or hardly."""
    try:
        if source.count("<") > TAGS:
            raise ValueError("too many tags")
        files = attachments if isinstance(attachments, dict) else {}
        # What IPython writes into a page of its own: here it is only a step, and cleaned below.
        renderer = IPythonRenderer(escape=False, exclude_anchor_links=True, attachments=files)
        return str(_CLEANER.clean(MarkdownWithMath(renderer=renderer).render(printable(source))))
    except Exception:  # the renderer raises whatever it runs into; the text itself is still there
        return f'<pre class="wrap">{escape(printable(source))}</pre>'


def _attribute(tag: str, name: str, value: str) -> bool:
    """Whether an attribute may stay in a student's text."""
    if (tag, name) == ("a", "href"):
        return re.match(r"(https?://|mailto:)", value) is not None
    if (tag, name) == ("img", "src"):
        return is_image_uri(value)
    if name == "class":  # the colours of code
        return re.fullmatch(r"highlight|[a-z]{1,2}[0-9]?", value) is not None
    if name == "style":
        return tag in ("td", "th") and re.fullmatch(r"text-align: ?[a-z]+;?", value) is not None
    return (tag, name) in {("img", "alt"), ("ol", "start"), ("details", "open")}


class _Lower(Filter):  # type: ignore[misc]
    """A student's headings stand below the page's own; images have a word that stands for them."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for token in super().__iter__():
            name = token.get("name") or ""
            if re.fullmatch("h[1-6]", name):
                token["name"] = f"h{min(int(name[1]) + 2, 6)}"
            if name == "table" and token["type"] == "StartTag":
                token["data"][None, "tabindex"] = "0"  # wide ones are scrolled, by keyboard too
            if name == "img":
                alt = token["data"].get((None, "alt")) or "image in the text"
                token["data"][None, "alt"] = alt
                if (None, "src") not in token["data"]:
                    token = {"type": "Characters", "data": f"[left out: {alt[:200]}]"}
            yield token


_ALLOWED = """
a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li
mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul"""
_CLEANER = Cleaner(
    tags=frozenset(re.findall(r"\S+", _ALLOWED)),
    attributes=_attribute,
    protocols=frozenset({"http", "https", "mailto", "data"}),
    strip=True,
    filters=[_Lower],
    css_sanitizer=CSSSanitizer(allowed_css_properties=["text-align"]),
)
