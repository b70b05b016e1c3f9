"""The pieces of HTML that the page *Behaviour by version* is made of."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jaxbits._catalogue import ALSO_SHARP, SharpBit, heading_id


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table of cells that are HTML already; the first cell of a row heads it."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    body = "\n".join(
        "<tr>" + "".join(
            f'<th scope="row">{cell}</th>' if not column else f"<td>{cell}</td>"
            for column, cell in enumerate(row)
        ) + "</tr>"
        for row in rows
    )  # fmt: skip
    head = f"<thead><tr>{top}</tr></thead>"
    return f'<table class="by-version">\n{head}\n<tbody>\n{body}\n</tbody>\n</table>'


def escaped(text: str) -> str:
    """Return a text as it may stand between tags."""
    return html.escape(text, quote=False)


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "error"), count(2, "error")
    ('1 error', '2 errors')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def section_link(stem: str, section: str, bit: str = "") -> str:
    """Return a link from a reference page to a section, or to a row of the table *Also sharp*."""
    if not section:
        return f'<a href="../chapters/{stem}.html">the opening</a>'
    anchor = bit if section == ALSO_SHARP and bit else heading_id(section)
    return f'<a href="../chapters/{stem}.html#{anchor}">{inline(section)}</a>'


def outcomes(claims: Iterable[Mapping[str, Any]]) -> str:
    """Return how many claims held, were not made and failed."""
    seen = [claim["outcome"] for claim in claims]
    said = (f"{seen.count(o)} {o}" for o in ("held", "not made", "failed") if o in seen)
    return ", ".join(said) or "none"


def inline(text: str) -> str:
    """Return a line of the catalogue as HTML: escaped, with `code` in backticks.

    Example:
        >>> inline("use `a < b`")
        'use <code>a &lt; b</code>'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def embedded(value: object) -> str:
    """Return a value as JSON that may stand inside an HTML script element."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def link(bit: SharpBit) -> str:
    """Return the address of a sharp bit as seen from a reference page."""
    return f"../{bit.page}"


def chapter_titles(root: Path) -> dict[str, str]:
    """Return the first heading of every chapter by the stem of its file."""
    texts = {path.stem: path.read_text("utf8") for path in sorted(root.glob("chapters/*.md"))}
    found = {stem: re.search(r"^# (.+)$", text, re.M) for stem, text in texts.items()}
    return {stem: heading[1].strip() for stem, heading in found.items() if heading}
