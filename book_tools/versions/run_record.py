"""What is noted of a chapter run in one environment: claims, errors, printed text that differs."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, field
from typing import Any

from book_tools.versions.chapter_cells import Cell, alike, clean, printed
from jaxbits._catalogue import load


@dataclass
class ClaimSeen:
    """The outcome of one claim; `seen` and `expected` are kept of those that did not hold."""

    bit: str
    claim: str
    section: str
    outcome: str
    made_for: str = ""
    seen: str = ""
    expected: str = ""


@dataclass
class ErrorSeen:
    """A cell that raised, or was to raise; `names` is empty when it did not."""

    section: str
    declared: str
    tagged: bool
    comparison: bool
    bits: list[str]
    names: list[str] = field(default_factory=list)
    message: str = ""
    explained: list[str] | str = field(default_factory=list)


@dataclass
class ChapterSeen:
    """All that was noted of one chapter in one environment."""

    title: str
    code: str
    claims: list[ClaimSeen] = field(default_factory=list)
    errors: list[ErrorSeen] = field(default_factory=list)
    printed: list[dict[str, str]] = field(default_factory=list)
    broken: str = ""


def bits_of(chapter: str, headings: tuple[str, ...]) -> list[str]:
    """Return the catalogue's entries for a cell: those of the nearest heading that has any."""
    for heading in headings:
        found = [b.id for b in load().values() if (b.chapter, b.section) == (chapter, heading)]
        if found:
            return found
    return []


def first_difference(stored: str, here: str) -> dict[str, str] | None:
    """Return the first pair of lines that do not say the same, or None."""
    for pair in itertools.zip_longest(stored.splitlines(), here.splitlines(), fillvalue=""):
        if not alike(*pair):
            return {"stored": pair[0].strip()[:200], "here": pair[1].strip()[:200]}
    return None


def note_cell(
    seen: ChapterSeen, chapter: str, cell: Cell, outputs: list[Any],
    claims: list[dict[str, Any]], probed: list[dict[str, Any]],
) -> None:  # fmt: skip
    """Add to `seen` what one cell did."""
    section = cell.headings[0] if cell.headings else ""
    for claim in claims:
        kept: tuple[str, ...] = ("bit", "claim", "outcome", "made_for")
        kept += ("seen", "expected") if claim["outcome"] == "failed" else ()
        seen.claims.append(ClaimSeen(section=section, **{k: claim.get(k, "") for k in kept}))
    raised = next((o for o in outputs if o.output_type == "error"), None)
    tagged = "raises-exception" in cell.tags
    if raised is not None or tagged:
        error = ErrorSeen(
            section,
            cell.declared,
            tagged,
            "comparison" in cell.tags,
            bits_of(chapter, cell.headings),
        )
        if raised is not None:
            # An error that the probe missed, such as one of a magic, is known by what was shown.
            shown = {"names": [raised.ename], "message": raised.evalue, "explained": []}
            noted = probed[-1] if probed else shown
            error.names, error.explained = noted["names"], noted["explained"]
            error.message = clean(noted["message"])
        seen.errors.append(error)
    failed_magic = any(o.output_type == "stream" and "UsageError:" in o.text for o in outputs)
    if failed_magic:
        seen.broken = f"a magic failed in {section!r}"
    if raised is None and cell.stored is not None:
        pair = first_difference(cell.stored, printed(outputs))
        if pair:
            seen.printed.append({"section": section, **pair})


def as_recorded(seen: ChapterSeen) -> dict[str, Any]:
    """Return a chapter's results as they are written down: claims without their empty parts."""
    everything = asdict(seen)
    everything["claims"] = [{k: v for k, v in c.items() if v} for c in everything["claims"]]
    return everything
