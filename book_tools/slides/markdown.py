"""Convert the chapters' Markdown to the HTML that slides show, and cut it to a few sentences."""

from __future__ import annotations

import html
import re

from markdown_it import MarkdownIt

_MARKDOWN = MarkdownIt("commonmark", {"html": True})
_LINK = re.compile(r"\[((?:[^\[\]]|`[^`]*`)+)\]\([^()\s]*\)")
_MATH = re.compile(r"\$([^$\n]+)\$")
# A sentence ends at a period, unless the next word continues it or the period is in code.
_SENTENCE_END = re.compile(r"(?<=[.!?])[)\"]?\s+(?=[A-Z`*(0-9])")


def to_html(text: str) -> str:
    """Return one paragraph of Markdown as HTML, without links, which would lead off the slide."""
    return str(_MARKDOWN.renderInline(without_links(text)))


def without_links(text: str) -> str:
    """Return Markdown in which each link is replaced by its text.

    Example:
        >>> without_links("see [Precision](10-precision.ipynb)")
        'see Precision'
    """
    return _LINK.sub(r"\1", text)


def plain_text(text: str) -> str:
    """Return a paragraph of Markdown as text, for measuring its length."""
    return html.unescape(re.sub(r"<[^>]+>", "", to_html(text)))


def first_sentences(text: str, limit: int) -> str:
    """Return as many whole sentences from the start of a paragraph as fit.

    Args:
        text: A paragraph of Markdown.
        limit: The largest number of characters. The first sentence is returned even if it is
            longer.

    Example:
        >>> first_sentences("JAX traces `f`. It runs once. It records.", 30)
        'JAX traces `f`. It runs once.'
    """
    sentences = split_sentences(text)
    found = sentences[0]
    for sentence in sentences[1:]:
        if len(plain_text(f"{found} {sentence}")) > limit:
            break
        found = f"{found} {sentence}"
    return found


def last_sentences(text: str, limit: int) -> str:
    """Return as many whole sentences from the end of a paragraph as fit, or an empty string.

    Sentences in parentheses are left out.

    Example:
        >>> last_sentences("JAX traces `f`. It runs once. (It records.)", 20)
        'It runs once.'
    """
    found = ""
    for sentence in reversed([one for one in split_sentences(text) if one[0] != "("]):
        longer = f"{sentence} {found}".strip()
        if len(plain_text(longer)) > limit:
            break
        found = longer
    return found


def split_sentences(text: str) -> list[str]:
    """Split a paragraph of Markdown into its sentences, without splitting code or parentheses."""
    text = " ".join(text.split())
    found: list[str] = []
    begin = 0
    for end in _SENTENCE_END.finditer(text):
        piece = text[begin : end.end()].strip()
        if piece.count("`") % 2 or piece.count("(") > piece.count(")"):
            continue
        if piece.count("**") % 2:
            continue
        found.append(piece)
        begin = end.end()
    return [*found, text[begin:].strip()] if text[begin:].strip() else found


def predict_options(text: str) -> list[str]:
    """Return the options of a *Predict* question as HTML, without saying which one is right."""
    return re.findall(r"<summary>(.*?)</summary>", text, re.S)
