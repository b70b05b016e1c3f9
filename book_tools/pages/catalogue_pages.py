"""Generate the pages *Errors* and *Silent failures* from the catalogue of sharp bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from book_tools.pages.html_utils import bit_address, inline_code
from book_tools.pages.render import render_page
from jaxbits._catalogue import SharpBit


def group_by_error(bits: Iterable[SharpBit]) -> dict[str, list[SharpBit]]:
    """Return the sharp bits that cause an error, grouped by error class in alphabetical order."""
    found: dict[str, list[SharpBit]] = {}
    for bit in bits:
        for error in dict.fromkeys(symptom.error for symptom in bit.symptoms):
            found.setdefault(error, []).append(bit)
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def errors_page(bits: Iterable[SharpBit]) -> str:
    """Return the page *Errors* as Markdown, including the finder's entries as JSON."""
    bits = list(bits)
    entries = [
        {
            "id": bit.id,
            "error": symptom.error,
            "text": symptom.text,
            "title": inline_code(bit.title),
            "fix": inline_code(bit.fix),
            "href": bit_address(bit),
        }
        for bit in bits
        for symptom in bit.symptoms
    ]
    return render_page("errors.md", entries=entries, classes=group_by_error(bits))


def silent_failures_page(bits: Iterable[SharpBit], titles: Mapping[str, str]) -> str:
    """Return the page *Silent failures* as Markdown.

    Args:
        bits: The sharp bits in the catalogue.
        titles: The title of each chapter, keyed by the stem of its file.
    """
    chapters: dict[str, list[SharpBit]] = {}
    for bit in sorted(bits, key=lambda bit: bit.chapter):
        if bit.silent:
            chapters.setdefault(titles.get(bit.chapter, bit.chapter), []).append(bit)
    return render_page("silent-failures.md", chapters=chapters)
