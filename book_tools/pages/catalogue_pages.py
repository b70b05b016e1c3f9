"""The pages *Errors* and *Silent failures*, written from the catalogue of sharp bits."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

from book_tools.pages.html_utils import embedded, inline, link
from jaxbits._catalogue import SharpBit

ERRORS = """\
# Errors

Every error that this book shows, with what to do about it. Paste yours, the whole traceback if you
like: your own names and paths do not matter, and what you paste stays in this page.

{finder}

{classes}
"""

FINDER = """\
<div class="finder" id="finder" role="search" aria-label="Find an error" hidden>
<label for="finder-text">Your error message or traceback</label>
<textarea id="finder-text" rows="7" spellcheck="false" autocapitalize="off" autocomplete="off" \
aria-describedby="finder-status" placeholder="Traceback (most recent call last): …"></textarea>
<p class="finder-foot"><span id="finder-status" aria-live="polite"></span>
<button type="button" id="finder-clear" hidden>Clear</button></p>
<ol id="finder-results"></ol>
</div>
<script type="application/json" id="finder-entries">{entries}</script>
"""

SILENT = """\
# Silent failures

What goes wrong without an error: you get a number, a gradient or a run that looks fine and is not.
Look for what you see; every line leads to the section that shows it happening.

{chapters}
"""


def by_class(bits: Iterable[SharpBit]) -> dict[str, list[SharpBit]]:
    """Return the loud sharp bits by the classes of error that show them, in alphabetical order."""
    found: dict[str, list[SharpBit]] = {}
    for bit in bits:
        for error in dict.fromkeys(symptom.error for symptom in bit.symptoms):
            found.setdefault(error, []).append(bit)
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def advice(bit: SharpBit) -> str:
    """Return the fix, the guard and the versions of a sharp bit as terms and descriptions."""
    lines = {"Fix": bit.fix, "Guard": bit.guard, "Versions": versions(bit)}
    return "".join(
        f"<dt>{term}</dt><dd>{inline(text)}</dd>\n" for term, text in lines.items() if text
    )


def versions(bit: SharpBit) -> str:
    """Say which JAX versions have a sharp bit, or nothing when all of the book's do."""
    since = f"from jax {bit.since}" if bit.since else ""
    until = f"before jax {bit.until}" if bit.until else ""
    return ", ".join(filter(None, (since, until)))


def error_card(error: str, bit: SharpBit) -> str:
    """Return one sharp bit under one class of error."""
    messages = "\n".join(
        f"<pre><b>{error}:</b> {html.escape(symptom.text, quote=False)}</pre>"
        for symptom in bit.symptoms
        if symptom.error == error
    )
    return (
        f'<div class="bit">\n{messages}\n<p class="bit-title"><a href="{link(bit)}">'
        f"{inline(bit.title)}</a></p>\n<dl>\n{advice(bit)}</dl>\n</div>\n"
    )


def silent_card(bit: SharpBit) -> str:
    """Return one silent sharp bit: what the reader sees, then what it is."""
    return (
        f'<div class="bit">\n<p class="bit-title"><a href="{link(bit)}">{inline(bit.title)}</a>'
        f"</p>\n<dl>\n<dt>Look for</dt><dd>{inline(bit.look_for)}</dd>\n{advice(bit)}</dl>\n"
        "</div>\n"
    )


def errors_page(bits: Iterable[SharpBit]) -> str:
    """Return the page of errors as Markdown."""
    bits = list(bits)
    entries = [
        {
            "id": bit.id,
            "error": symptom.error,
            "text": symptom.text,
            "title": inline(bit.title),
            "fix": inline(bit.fix),
            "href": link(bit),
        }
        for bit in bits
        for symptom in bit.symptoms
    ]
    classes = "\n".join(
        f"## {error}\n\n" + "\n".join(error_card(error, bit) for bit in listed)
        for error, listed in by_class(bits).items()
    )
    return ERRORS.format(finder=FINDER.format(entries=embedded(entries)), classes=classes)


def silent_page(bits: Iterable[SharpBit], titles: Mapping[str, str]) -> str:
    """Return the page of silent failures as Markdown; `titles` are the chapters' by their stem."""
    chapters: dict[str, list[SharpBit]] = {}
    for bit in bits:
        if bit.silent:
            chapters.setdefault(bit.chapter, []).append(bit)
    parts = (
        f"## {titles.get(stem, stem)}\n\n" + "\n".join(map(silent_card, listed))
        for stem, listed in sorted(chapters.items())
    )
    return SILENT.format(chapters="\n".join(parts))
