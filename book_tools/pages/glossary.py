"""The glossary: its page, from ``reference/glossary.toml``, and the words to look for in a text.

The page has an anchor for each term, ``glossary.html#weak-type``. The extension ``_ext/terms.py``
links the first use of each term in every chapter to it.
"""

from __future__ import annotations

import functools
import html
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxbits._catalogue import SharpBit, heading_id

PAGE = """\
# Glossary

The words of the field as this book uses them. In a chapter, the first use of each leads here.

<dl class="glossary">
{terms}
</dl>
"""


class GlossaryError(ValueError):
    """The file of terms is malformed; the message names the term and what is wrong with it."""


@dataclass(frozen=True)
class Term:
    """A word, what it means, and the sections about it; the rest says where a text uses it."""

    name: str
    text: str
    bits: tuple[str, ...]
    forms: tuple[str, ...] = ()
    not_in: tuple[str, ...] = ()
    met: str = ""

    @property
    def anchor(self) -> str:
        """The HTML id of the term on its page."""
        return heading_id(self.name)

    @functools.cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """A regular expression for each form; its first group is the part that is linked."""
        # A name with capitals, such as NaN, is no word in small letters that looks like it.
        flags = 0 if self.name != self.name.lower() else re.IGNORECASE
        found = []
        for form in self.forms or (self.name, f"{self.name}s"):
            bracketed = form if "(" in form else f"({form})"
            words = r"\s+".join(re.escape(word) for word in bracketed.split())
            words = words.replace(r"\(", "(").replace(r"\)", ")")
            found.append(re.compile(rf"(?<![\w.-]){words}(?![\w-])", flags))
        return found

    def find(self, text: str) -> tuple[int, int] | None:
        """Return where a text first uses the term, from and to; the longest form of those there.

        Example:
            >>> term = Term("leaf", "an end", (), ("leaf", "the (leaves)"))
            >>> term.find("It leaves the leaves alone."), term.find("a leaflet")
            ((14, 20), None)
        """
        spans = [m.span(1) for pattern in self.patterns if (m := pattern.search(text))]
        return min(spans, key=lambda span: (span[0], -span[1]), default=None)


def read(path: Path) -> list[Term]:
    """Return the terms of a file.

    Raises:
        GlossaryError: when a term lacks a name, a text or sections, comes twice or out of order.
    """
    terms: list[Term] = []
    for entry in tomllib.loads(path.read_text("utf8")).get("term", []):
        wrong = set(entry) - {"name", "text", "bits", "forms", "not_in", "met"}
        if wrong or not all(entry.get(key) for key in ("name", "text", "bits")):
            raise GlossaryError(f"a term should have name, text and bits, was {entry}")
        bits, forms, not_in = (tuple(entry.get(key, ())) for key in ("bits", "forms", "not_in"))
        name, met = entry["name"], entry.get("met", "")
        term = Term(name, entry["text"], bits, forms, not_in, met)
        if any(other.anchor == term.anchor for other in terms):
            raise GlossaryError(f"{term.name!r} is there twice")
        terms.append(term)
    return sorted(terms, key=lambda term: term.name.lower())


def page(terms: Sequence[Term], bits: Mapping[str, SharpBit]) -> str:
    """Return the page as Markdown.

    Raises:
        GlossaryError: when a term names a sharp bit that does not exist.
    """

    def coded(text: str) -> str:
        return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))

    rows = []
    for term in terms:
        if unknown := [bit for bit in term.bits if bit not in bits]:
            raise GlossaryError(f"{term.name!r}: no sharp bit is called {unknown[0]!r}")
        links = "; ".join(
            f'<a href="../{bits[bit].page}">{coded(bits[bit].title)}</a>' for bit in term.bits
        )
        met = f"You meet the word {coded(term.met)}. " if term.met else ""
        rows.append(
            f'<dt id="{term.anchor}">{term.name}</dt>\n<dd>{coded(term.text)} {met}'
            f'<span class="see">See {links}.</span></dd>'
        )
    return PAGE.format(terms="\n".join(rows))
