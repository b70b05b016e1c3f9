"""The sharp bits of the book: one list, that all else agrees with.

It is read from ``catalogue/``, which has a file a chapter, named as the chapter is. An entry has
the keys title, section (the exact heading, or "Also sharp"), silent, fix, guard; look_for where it
is silent; symptoms = [{error, text}] where it is loud, an ellipsis in the text for anything.
"""

from __future__ import annotations

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

ALSO_SHARP = "Also sharp"
"""The section of a chapter whose entries are rows of its executed table."""


class CatalogueError(ValueError):
    """An entry of the catalogue is malformed; the message names the entry and the key."""


@dataclass(frozen=True)
class Symptom:
    """An error as a reader meets it: its class, and the part of its text that stays the same.

    In `text` an ellipsis (``…``) stands for anything. A symptom with `leaked` is one only outside
    of the trace that the message speaks of: the value has escaped from it. Several sharp bits may
    raise the same words; `line`, a regular expression, then says what the reader's line looks like.

    >>> symptom = Symptom("IndexError", "index … is out of bounds")
    >>> symptom.matches("IndexError", "index 3 is out of bounds")
    28
    >>> symptom.matches("TypeError", "index 3 is out of bounds")
    0
    """

    error: str
    text: str
    leaked: bool = False
    line: str = ""

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """The text as a regular expression: white space folded, ``…`` for anything."""
        parts = (
            r"\s+".join(map(re.escape, part.split()))
            for part in self.text.split("…")
            if part.strip()
        )
        return re.compile(r".*?".join(parts), re.DOTALL)

    def matches(self, error: str, message: str) -> int:
        """Return how specific the match is (letters matched, class included), 0 for none."""
        if error != self.error or not self.pattern.search(message):
            return 0
        return len(self.error) + len(re.sub(r"[\s…]", "", self.text))

    def suits(self, code: str) -> int:
        r"""Return 1 where the reader's line looks as it should, -1 where not, 0 where none can say.

        >>> Symptom("TypeError", "a Ref", line=r"^assert\b").suits("assert total > 0")
        1
        """
        if not self.line or not code:
            return 0
        return 1 if re.search(self.line, code) else -1


@dataclass(frozen=True)
class SharpBit:
    """One trap of the book, and where the book treats it.

    Attributes:
        id: the name it goes by everywhere, in lower case with hyphens.
        title: the trap in one sentence.
        chapter: stem of the chapter's file, such as ``04-out-of-bounds``.
        section: the exact heading in that chapter, or ``Also sharp`` for a row of its table.
        symptoms: the errors by which a reader meets it; none for a silent one.
        silent: whether it gives a wrong result without an error.
        look_for: what a reader notices of a silent one.
        fix: what to do, in one line.
        guard: what finds it in one's own code, or ``none: ...`` with the reason.
        since: the first JAX version that has it, or empty.
        until: the first JAX version that no longer has it, or empty.
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

    @property
    def anchor(self) -> str:
        """The HTML id of the place on the chapter's page."""
        return self.id if self.section == ALSO_SHARP else heading_id(self.section)

    @property
    def page(self) -> str:
        """The place relative to the book's root: ``chapters/NN-topic.html#anchor``."""
        return f"chapters/{self.chapter}.html#{self.anchor}"

    @property
    def reference(self) -> str:
        """The place in words, such as ``chapter 04, "A write past the end disappears"``."""
        return f'chapter {self.chapter[:2]}, "{self.section}"'

    @property
    def link(self) -> str:
        """The address of the place in the published book; empty if there is no address."""
        site = runtime.site()
        return f"{site}/{self.page}" if site else ""


def heading_id(heading: str) -> str:
    """Return the HTML id that docutils gives to a heading.

    >>> heading_id("A read past the end: `x[11]`")
    'a-read-past-the-end-x-11'
    """
    plain = unicodedata.normalize("NFKD", heading.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", plain))


_TEXTS = {"title", "section", "fix", "guard"}
_OPTIONAL_TEXTS = {"look_for", "since", "until"}
_KEYS = _TEXTS | _OPTIONAL_TEXTS | {"silent", "symptoms"}


def _text(entry: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or (key in _TEXTS and not value.strip()):
        raise CatalogueError(f"[{entry}] {key} should be a text that is not empty, was {value!r}")
    return value


def _symptom(entry: str, number: int, value: Any) -> Symptom:
    where = f"[{entry}] symptoms, number {number},"
    if not isinstance(value, Mapping) or set(value) - {"leaked", "line"} != {"error", "text"}:
        raise CatalogueError(f"{where} should be {{error = ..., text = ...}}, was {value!r}")
    if not all(isinstance(value[k], str) and value[k].strip() for k in ("error", "text")):
        raise CatalogueError(f"{where} should have texts that are not empty, was {value!r}")
    leaked = value.get("leaked", False)
    if not isinstance(leaked, bool):
        raise CatalogueError(f"{where} leaked should be true or false, was {leaked!r}")
    if not str(value["error"]).isidentifier():
        raise CatalogueError(f"{where} error should be the name of a class, was {value['error']!r}")
    line = value.get("line", "")
    try:
        re.compile(line)
    except (TypeError, re.error):
        raise CatalogueError(f"{where} line should be a regular expression, was {line!r}") from None
    return Symptom(value["error"], value["text"], leaked, line)


def _bit(chapter: str, entry: str, values: Any) -> SharpBit:
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", entry):
        raise CatalogueError(f"[{entry}] should be named in lower case with hyphens")
    if not isinstance(values, Mapping):
        raise CatalogueError(f"[{entry}] should be a table, was {values!r}")
    for key in values:
        if key not in _KEYS:
            raise CatalogueError(f"[{entry}] has a key {key!r} that is none of {sorted(_KEYS)}")
    for key in sorted(_TEXTS | {"silent"}):
        if key not in values:
            raise CatalogueError(f"[{entry}] lacks the key {key!r}")
    silent = values["silent"]
    if not isinstance(silent, bool):
        raise CatalogueError(f"[{entry}] silent should be true or false, was {silent!r}")
    listed = values.get("symptoms", [])
    if not isinstance(listed, list):
        raise CatalogueError(f"[{entry}] symptoms should be a list, was {listed!r}")
    symptoms = tuple(_symptom(entry, n, value) for n, value in enumerate(listed, 1))
    if not silent and not symptoms:
        raise CatalogueError(f"[{entry}] symptoms should name the error, as silent is false")
    if silent and not values.get("look_for"):
        raise CatalogueError(f"[{entry}] look_for should say what a reader sees, as silent is true")
    texts = {k: _text(entry, k, v) for k, v in values.items() if k in _TEXTS | _OPTIONAL_TEXTS}
    texts = {"look_for": "", "chapter": chapter, **texts}
    return SharpBit(id=entry, symptoms=symptoms, silent=silent, **texts)


def parse(texts: Mapping[str, str]) -> Mapping[str, SharpBit]:
    """Read a catalogue from TOML texts.

    Args:
        texts: the text of each chapter's entries, by the stem of the chapter's file.

    Raises:
        CatalogueError: naming the entry and the key that are wrong, what was there, and what
            should be.

    >>> parse({"02-topic": "[Bad_Name]"})
    Traceback (most recent call last):
    jaxbits._catalogue.CatalogueError: [Bad_Name] should be named in lower case with hyphens
    """
    bits: dict[str, SharpBit] = {}
    places: dict[str, str] = {}
    for chapter, text in texts.items():
        try:
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise CatalogueError(f"the catalogue of {chapter} is not TOML: {error}") from None
        for entry, values in tables.items():
            bit = _bit(chapter, entry, values)
            if entry in bits:
                raise CatalogueError(f"[{entry}] is in {bits[entry].chapter} and in {chapter}")
            bits[entry] = bit
            if bit.section != ALSO_SHARP and (other := places.setdefault(bit.page, entry)) != entry:
                raise CatalogueError(f"[{entry}] section is that of [{other}]: one entry a section")
    return types.MappingProxyType(bits)


@functools.cache
def load() -> Mapping[str, SharpBit]:
    """Return the sharp bits of the book by id, in the order of the book.

    Raises:
        CatalogueError: when an entry is malformed.

    >>> load()["out-of-bounds-read"].chapter
    '04-out-of-bounds'
    """
    listed = sorted(files("jaxbits").joinpath("catalogue").iterdir(), key=lambda file: file.name)
    kept = (file for file in listed if file.name.endswith(".toml"))
    return parse({file.name.removesuffix(".toml"): file.read_text("utf8") for file in kept})


@functools.cache
def found_by(detector: str) -> tuple[SharpBit, ...]:
    """Return the sharp bits whose guard names a detector, in the order of the book.

    >>> [bit.id for bit in found_by("out_of_bounds")][:2]
    ['out-of-bounds-read', 'take-fills']
    """
    named = re.compile(rf"\bjaxbits\.detect\.{re.escape(detector)}\b")
    return tuple(bit for bit in load().values() if named.search(bit.guard))


def about(detector: str) -> SharpBit | None:
    """Return the sharp bit that is most about what a detector finds, if any.

    One with a section of its own, whose guard names the detector first; else the first in the book.

    >>> about("leak").id
    'kept-tracer'
    """

    def distance(bit: SharpBit) -> tuple[bool, bool]:
        return bit.section == "Also sharp", not bit.guard.startswith(f"`jaxbits.detect.{detector}`")

    return min(found_by(detector), key=distance, default=None)


def nearest(detector: str, error: BaseException) -> str:
    """Return the id of the sharp bit that a detector finds and that fits an error best, if any.

    >>> nearest("control_flow", ValueError("no such thing"))
    ''
    """
    fits = {
        bit.id: max((s.matches(type(error).__name__, str(error)) for s in bit.symptoms), default=0)
        for bit in found_by(detector)
    }
    best = max(fits, key=lambda id: fits[id], default="")
    return best if fits.get(best) else ""


def bit(id: str) -> SharpBit:
    """Return one sharp bit.

    Raises:
        KeyError: with the ids that come closest, when there is none of that id.

    >>> bit("take-fils")
    Traceback (most recent call last):
    KeyError: "no sharp bit 'take-fils'; did you mean take-fills?"
    """
    import difflib

    if id in load():
        return load()[id]
    close = " or ".join(difflib.get_close_matches(id, load(), n=2, cutoff=0.6))
    meant = f"did you mean {close}?" if close else "see jaxbits.load()"
    raise KeyError(f"no sharp bit {id!r}; {meant}")
