"""The pieces of HTML that the page *Behaviour by version* is made of."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

from jaxbits._catalogue import ALSO_SHARP, heading_id
from reference import inline


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
