"""Convert pieces of text to HTML for the generated pages."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from jaxbits._catalogue import ALSO_SHARP, SharpBit, heading_id


def escape_html(text: str) -> str:
    """Return the text with ``&``, ``<``, and ``>`` escaped, for use between HTML tags."""
    return html.escape(text, quote=False)


_INLINE_MARKUP = re.compile(
    r"``(?P<literal>.+?)``"
    r"|`(?P<code>[^`]+)`"
    r"|\[(?P<text>[^\]`]+)\]\((?P<page>[\w./#:-]+)\)"
    r"|(?<![\w*])\*(?P<emphasis>[A-Za-z](?:[^*`]*\w)?)\*(?![\w*])"
)


def inline_code(text: str) -> str:
    """Return a line of text as escaped HTML, with its code, links, and emphasis as elements.

    Code is in single or double backticks. Links and emphasis have the form that they have in
    Markdown.

    Example:
        >>> inline_code("use `a < b`, or ``f()``")
        'use <code>a &lt; b</code>, or <code>f()</code>'
        >>> inline_code("*see* [Errors](errors.md#x)")
        '<em>see</em> <a href="errors.html#x">Errors</a>'
    """

    def element(found: re.Match[str]) -> str:
        if found["page"]:
            address = re.sub(r"\.(?:md|ipynb)(?=#|$)", ".html", found["page"])
            return f'<a href="{address}">{found["text"]}</a>'
        if found["emphasis"]:
            return f"<em>{found['emphasis']}</em>"
        return f"<code>{found['literal'] or found['code']}</code>"

    return _INLINE_MARKUP.sub(element, escape_html(text))


def script_json(value: object) -> str:
    """Return a value as JSON that is safe inside an HTML script element."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def html_table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return an HTML table whose first column contains the row headers.

    Args:
        heads: The column headers, as HTML.
        rows: The cells of each row, as HTML.
    """
    top = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    body = "\n".join(
        "<tr>" + "".join(
            f"<td>{cell}</td>" if column else f'<th scope="row">{cell}</th>'
            for column, cell in enumerate(row)
        ) + "</tr>"
        for row in rows
    )  # fmt: skip
    head = f"<thead><tr>{top}</tr></thead>"
    return f'<table class="by-version">\n{head}\n<tbody>\n{body}\n</tbody>\n</table>'


def format_score(score: Sequence[int] | None) -> str:
    """Return a score as the text of one table cell, or a dash if there are no cases.

    Example:
        >>> format_score([9, 10, 0, 5]), format_score([0, 0, 0, 0])
        ('9/10; 0/5', '–')
    """
    if not score or not (score[1] or score[3]):
        return "–"
    return f"{score[0]}/{score[1]}; {score[2]}/{score[3]}"


def count_noun(number: int, noun: str) -> str:
    """Return a number followed by its noun, in the plural unless the number is 1.

    Args:
        number: The number of things to count.
        noun: The singular form of the noun. The plural form must add only an s.

    Example:
        >>> count_noun(1, "error"), count_noun(2, "error")
        ('1 error', '2 errors')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def join_phrases(phrases: Sequence[str]) -> str:
    """Return phrases as a list in a sentence.

    Example:
        >>> join_phrases(["a", "b", "c"]), join_phrases(["a", "b"])
        ('a, b, and c', 'a and b')
    """
    if len(phrases) < 3:
        return " and ".join(phrases)
    return f"{', '.join(phrases[:-1])}, and {phrases[-1]}"


def link_to_section(stem: str, section: str, bit: str = "") -> str:
    """Return a link from a reference page to a section of a chapter.

    Args:
        stem: The chapter, such as ``04-out-of-bounds``.
        section: The section's heading, or an empty string for the chapter's opening.
        bit: The catalogue id of an entry under *Also sharp*. If it is given, the link leads there.
    """
    if not section:
        return f'<a href="../chapters/{stem}.html">the opening</a>'
    anchor = bit if section == ALSO_SHARP and bit else heading_id(section)
    return f'<a href="../chapters/{stem}.html#{anchor}">{inline_code(section)}</a>'


def bit_address(bit: SharpBit) -> str:
    """Return the address of a sharp bit relative to a reference page."""
    return f"../{bit.page}"


def chapter_titles(root: Path) -> dict[str, str]:
    """Return the first heading of each chapter, keyed by the stem of its file."""
    texts = {path.stem: path.read_text("utf8") for path in sorted(root.glob("chapters/*.md"))}
    found = {stem: re.search(r"^# (.+)$", text, re.M) for stem, text in texts.items()}
    return {stem: heading[1].strip() for stem, heading in found.items() if heading}
