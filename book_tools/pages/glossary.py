"""Generate the glossary from ``reference/glossary.toml``, and find its terms in text.

The page has an anchor for each term, such as ``glossary.html#weak-type``. The Sphinx extension
``_ext/glossary_links.py`` links each term's first use in every chapter to its anchor.
"""

from __future__ import annotations

import functools
import re
import string
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from book_tools.pages.render import render_page
from jaxbits._catalogue import SharpBit, heading_id


class GlossaryError(ValueError):
    """Raised if the glossary file is malformed. The message names the term and the problem."""


@dataclass(frozen=True)
class Term:
    """A glossary term.

    Attributes:
        name: The term.
        text: Its definition, in full sentences that begin with the term.
        bits: The catalogue ids of the sections about the term.
        forms: The forms in which the term appears in text. If a form contains parentheses, only the
            part inside them is linked. The default forms are the name and its plural.
        not_in: The numbers of the chapters in which the term is not linked.
        met: If no chapter uses the term, a description of where readers meet it.
    """

    name: str
    text: str
    bits: tuple[str, ...]
    forms: tuple[str, ...] = ()
    not_in: tuple[str, ...] = ()
    met: str = ""

    @property
    def anchor(self) -> str:
        """The HTML id of the term on the glossary page."""
        return heading_id(self.name)

    @functools.cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """Regular expressions for the forms. The first group of each is the part to link."""
        # A name with capitals, such as NaN, must not match an ordinary word.
        flags = 0 if self.name != self.name.lower() else re.IGNORECASE
        found = []
        for form in self.forms or (self.name, f"{self.name}s"):
            bracketed = form if "(" in form else f"({form})"
            words = r"\s+".join(re.escape(word) for word in bracketed.split())
            words = words.replace(r"\(", "(").replace(r"\)", ")")
            found.append(re.compile(rf"(?<![\w.-]){words}(?![\w-])", flags))
        return found

    def find(self, text: str) -> tuple[int, int] | None:
        """Return the start and end of the term's first use in a text, or None if there is none.

        If several forms start at the same position, the longest one wins.

        Example:
            >>> term = Term("leaf", "an end", (), ("leaf", "the (leaves)"))
            >>> term.find("It leaves the leaves alone."), term.find("a leaflet")
            ((14, 20), None)
        """
        spans = [m.span(1) for pattern in self.patterns if (m := pattern.search(text))]
        return min(spans, key=lambda span: (span[0], -span[1]), default=None)


def read_terms(path: Path) -> list[Term]:
    """Return a file's terms in alphabetical order.

    Raises:
        GlossaryError: If a term lacks a key, has an unknown key, or is listed twice.
    """
    terms: list[Term] = []
    for entry in tomllib.loads(path.read_text("utf8")).get("term", []):
        unknown = set(entry) - {"name", "text", "bits", "forms", "not_in", "met"}
        if unknown or not all(entry.get(key) for key in ("name", "text", "bits")):
            raise GlossaryError(f"a term must have name, text, and bits; got {entry}")
        bits, forms, not_in = (tuple(entry.get(key, ())) for key in ("bits", "forms", "not_in"))
        term = Term(entry["name"], entry["text"], bits, forms, not_in, entry.get("met", ""))
        if any(other.anchor == term.anchor for other in terms):
            raise GlossaryError(f"each term must be listed once, got {term.name!r} again")
        terms.append(term)
    return sorted(terms, key=lambda term: term.name.lower())


def glossary_page(terms: Sequence[Term], bits: Mapping[str, SharpBit]) -> str:
    """Return the page as Markdown.

    Args:
        terms: The terms, as `read_terms` returns them.
        bits: The sharp bits in the catalogue, keyed by id.

    Raises:
        GlossaryError: If a term names a sharp bit that is not in the catalogue.
    """
    for term in terms:
        if unknown := [bit for bit in term.bits if bit not in bits]:
            raise GlossaryError(f"{term.name!r}: bits must be in the catalogue, got {unknown[0]!r}")
    letters: dict[str, list[Term]] = {letter: [] for letter in string.ascii_uppercase}
    for term in terms:
        letters[term.name[0].upper()].append(term)
    return render_page(
        "glossary.md",
        letters=letters,
        chapters={term.name: bits_by_chapter(bits[bit] for bit in term.bits) for term in terms},
    )


def bits_by_chapter(bits: Iterable[SharpBit]) -> dict[str, list[SharpBit]]:
    """Return sharp bits grouped by chapter, such as ``04-out-of-bounds``, in the book's order."""
    found: dict[str, list[SharpBit]] = {}
    for bit in sorted(bits, key=lambda bit: bit.chapter):
        found.setdefault(bit.chapter, []).append(bit)
    return found
