"""The catalogue of sharp bits, which the book, `explain`, and the detectors share.

``catalogue/`` has one file per chapter, named after the chapter's file. Each entry has the keys
``title``, ``section`` (the exact heading, or "Also sharp"), ``silent``, ``fix``, and ``guard``. A
silent entry also has ``look_for``, and ``noticed``, a list of the groups in which the page *Silent
failures* shows it. The entry of a bit that causes an error has ``symptoms``, a list of
``{error = "TypeError", text = "…"}``, and ``task``, its group on the page *Errors*. Its ``context``
applies to all symptoms that have none of their own.
tests/library/test_catalogue.py checks every entry, and tests/pages/test_entry_groups.py its groups.
"""

from __future__ import annotations

import difflib
import functools
import re
import tomllib
import types
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jaxbits import runtime
from jaxbits._matching_rules import compile_shared

ALSO_SHARP = "Also sharp"
"""The section whose entries are the rows of a table that the notebook computes."""


class CatalogueError(ValueError):
    """Raised if a catalogue file is invalid. The message names the file and the entry."""


@dataclass(frozen=True)
class Symptom:
    """An error or a warning that a sharp bit causes, or a line that it adds to a log.

    Attributes:
        error: The name of the error's or the warning's class, or "" for a line in a log.
        text: The constant part of the message, in which ``…`` stands for any characters.
        leaked: Whether the symptom matches only errors about a tracer that has outlived its trace.
        line: A regular expression for the reader's line of code, or "". It distinguishes sharp bits
            that cause the same message.
        context: A regular expression, or "". It must match somewhere in what the reader pasted, for
            example because other programs raise the same error.
        caller: A regular expression, or "". It must match the name of the package that called JAX.
        generic: Whether Python, NumPy, or another program raises the same error. A traceback does
            not match if it shows other libraries, but neither JAX nor one that builds on it.

    >>> symptom = Symptom("IndexError", "index … is out of bounds")
    >>> symptom.message_score("IndexError", "index 3 is out of bounds")
    28
    >>> symptom.message_score("TypeError", "index 3 is out of bounds")
    0
    """

    error: str
    text: str
    leaked: bool = False
    line: str = ""
    context: str = ""
    caller: str = ""
    generic: bool = False

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """`text` as a regular expression in which all kinds of whitespace are equivalent."""
        parts = (
            r"\s+".join(map(re.escape, part.split()))
            for part in self.text.split("…")
            if part.strip()
        )
        return re.compile(r".*?".join(parts), re.DOTALL)

    def message_score(self, error: str, message: str) -> int:
        """Return how well an error matches this symptom.

        Args:
            error: The name of the error's class.
            message: The error's message.

        Returns:
            The number of matching characters, including those of the class name, or 0 if the error
            does not match.
        """
        if error != self.error or not self.pattern.search(message):
            return 0
        return len(self.error) + len(re.sub(r"[\s…]", "", self.text))

    def line_score(self, code: str) -> int:
        r"""Return 1 if the reader's line matches `line`, 0 if either is empty, and -1 otherwise.

        >>> Symptom("TypeError", "a Ref", line=r"^assert\b").line_score("assert total > 0")
        1
        """
        if not self.line or not code:
            return 0
        return 1 if compile_shared(self.line).search(code) else -1


@dataclass(frozen=True)
class SharpBit:
    """A sharp bit and the place where the book explains it.

    Attributes:
        id: The name by which the book and the library refer to it, in lowercase with hyphens.
        title: A one-sentence description of the sharp bit.
        chapter: The name of the chapter's file without its suffix, such as ``04-out-of-bounds``.
        section: The exact heading in that chapter, or ``Also sharp`` if it is a row of the
            chapter's table.
        symptoms: The errors that it causes. A silent sharp bit has none.
        silent: Whether it gives a wrong result without an error.
        look_for: What a reader may notice if the sharp bit is silent.
        fix: How to fix it, in one line.
        guard: The tool that finds it in the reader's own code, or ``none: …`` with the reason why
            there is no such tool.
        since: The first JAX version that has this sharp bit, or "".
        until: The first JAX version that no longer has this sharp bit, or "".
        task: What the reader was doing when the error was raised, or "".
        noticed: What the reader notices if the sharp bit is silent.
    """

    id: str
    title: str
    chapter: str
    section: str
    symptoms: tuple[Symptom, ...]
    silent: bool
    look_for: str
    fix: str
    guard: str
    since: str = ""
    until: str = ""
    task: str = ""
    noticed: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """The HTML id of the section or table row on the chapter's page."""
        return self.id if self.section == ALSO_SHARP else heading_id(self.section)

    @property
    def page(self) -> str:
        """The URL relative to the book's root, in the form ``chapters/NN-topic.html#anchor``."""
        return f"chapters/{self.chapter}.html#{self.anchor}"

    @property
    def reference(self) -> str:
        """A readable reference, such as ``chapter 04, "A write past the end disappears"``."""
        return f'chapter {self.chapter[:2]}, "{self.section}"'

    @property
    def link(self) -> str:
        """The URL in the published book, or "" if this copy of the book is not published."""
        site = runtime.site()
        return f"{site}/{self.page}" if site else ""


def heading_id(heading: str) -> str:
    """Return the HTML id that docutils gives to a heading.

    >>> heading_id("A read past the end: `x[11]`")
    'a-read-past-the-end-x-11'
    """
    # https://docutils.sourceforge.io/docs/ref/rst/directives.html#identifier-normalization
    ascii_only = unicodedata.normalize("NFKD", heading.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", ascii_only))


def parse(texts: Mapping[str, str]) -> Mapping[str, SharpBit]:
    """Parse TOML strings, and return their sharp bits in the same order, keyed by id.

    Args:
        texts: The TOML string of each chapter, keyed by the name of the chapter's file without its
            suffix.

    Raises:
        CatalogueError: If a string is not valid TOML, or if an entry does not describe a sharp
            bit.

    >>> parse({"02-topic": "some-bit = 3"})
    Traceback (most recent call last):
    jaxbits._catalogue.CatalogueError: cannot read [some-bit] in 02-topic: it must be a table, got 3
    """
    bits = {}
    for chapter, text in texts.items():
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise CatalogueError(f"cannot read {chapter}: {error}") from None
        for id, values in tables.items():
            try:
                bits[id] = _sharp_bit(id, chapter, values)
            except TypeError as error:  # A key is missing or unknown.
                raise CatalogueError(f"cannot read [{id}] in {chapter}: {error}") from None
    return types.MappingProxyType(bits)


def _sharp_bit(id: str, chapter: str, values: Any) -> SharpBit:
    if not isinstance(values, dict):
        raise TypeError(f"it must be a table, got {values!r}")
    values = dict(values)
    shared = {"context": values.pop("context", "")}
    symptoms = tuple(Symptom(**{**shared, **symptom}) for symptom in values.get("symptoms", ()))
    noticed = tuple(values.get("noticed", ()))
    fields = {
        "look_for": "", **values,
        "id": id, "chapter": chapter, "symptoms": symptoms, "noticed": noticed,
    }  # fmt: skip
    return SharpBit(**fields)


@functools.cache
def load() -> Mapping[str, SharpBit]:
    """Return the book's sharp bits in the order of its chapters, keyed by id.

    Raises:
        CatalogueError: If a catalogue file is invalid.

    >>> load()["out-of-bounds-read"].chapter
    '04-out-of-bounds'
    """
    folder = files("jaxbits").joinpath("catalogue").iterdir()
    tables = sorted((file for file in folder if file.name.endswith(".toml")), key=lambda f: f.name)
    return parse({file.name.removesuffix(".toml"): file.read_text("utf8") for file in tables})


def find_bit(id: str) -> SharpBit:
    """Return the sharp bit with the given id.

    Raises:
        KeyError: If no sharp bit has this id. The message suggests similar ids.

    >>> find_bit("take-fils")
    Traceback (most recent call last):
    KeyError: "there is no sharp bit 'take-fils'; did you mean take-fills?"
    """
    if id in load():
        return load()[id]
    similar = " or ".join(difflib.get_close_matches(id, load(), n=2, cutoff=0.6))
    advice = f"did you mean {similar}?" if similar else "jaxbits.load() lists all of them"
    raise KeyError(f"there is no sharp bit {id!r}; {advice}")


@functools.cache
def bits_for_check(check: str) -> tuple[SharpBit, ...]:
    """Return the sharp bits whose `guard` names a detector, in the order of the book's chapters.

    >>> [bit.id for bit in bits_for_check("out_of_bounds")][:2]
    ['out-of-bounds-read', 'take-fills']
    """
    pattern = re.compile(rf"\bjaxbits\.detect\.{re.escape(check)}\b")
    return tuple(bit for bit in load().values() if pattern.search(bit.guard))


def primary_bit(check: str) -> SharpBit | None:
    """Return the sharp bit that best describes what a detector finds, or None if there is none.

    A bit that has its own section takes precedence over one that does not. Among such bits, one
    whose guard begins with the detector's name takes precedence.

    >>> primary_bit("leak").id
    'kept-tracer'
    """

    def distance(bit: SharpBit) -> tuple[bool, bool]:
        is_named_first = bit.guard.startswith(f"`jaxbits.detect.{check}`")
        return bit.section == ALSO_SHARP, not is_named_first

    return min(bits_for_check(check), key=distance, default=None)


def best_match(check: str, error: BaseException) -> str:
    """Return the id of the detector's sharp bit that best matches an error, or "" if none does.

    Args:
        check: The name of the detector.
        error: The error that the user's function raised.

    >>> best_match("control_flow", ValueError("an unknown message"))
    ''
    """
    name, message = type(error).__name__, str(error)
    scores = {
        bit.id: max((s.message_score(name, message) for s in bit.symptoms), default=0)
        for bit in bits_for_check(check)
    }
    best = max(scores, key=lambda id: scores[id], default="")
    return best if scores.get(best) else ""
