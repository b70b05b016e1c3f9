"""Record a chapter's claims, errors, and differing output in one environment."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, field
from typing import Any

from book_tools.versions.chapter_cells import Cell, is_similar, normalize_message, printed_text
from book_tools.versions.version_noise import without_noise
from jaxbits._catalogue import load

MAX_LINE = 200


@dataclass
class ClaimResult:
    """The outcome of one claim. `seen` and `expected` are recorded only if the claim failed."""

    bit: str
    claim: str
    section: str
    outcome: str
    made_for: str = ""
    seen: str = ""
    expected: str = ""


@dataclass
class ErrorResult:
    """The result of a cell that raised an error or should have raised one.

    Attributes:
        section: The heading above the cell.
        declared: The class of the error that the cell announces.
        tagged: Whether the cell has the tag raises-exception.
        comparison: Whether the cell is tagged comparison, because it shows another library's error.
        bits: The catalogue ids of the section.
        names: The names of the error's class, or an empty list if the cell raised no error.
        message: The error's message.
        explained: The catalogue ids that `jaxbits.explain` returns, or the error that it raised.
    """

    section: str
    declared: str
    tagged: bool
    comparison: bool
    bits: list[str]
    names: list[str] = field(default_factory=list)
    message: str = ""
    explained: list[str] | str = field(default_factory=list)


@dataclass
class ChapterResult:
    """The results of one chapter in one environment.

    Attributes:
        title: The chapter's title.
        code: The digest of its code.
        claims: The outcomes of its claims.
        errors: The results of the cells that raised an error or should have raised one.
        printed: For each output that differs from the book's, the first line that differs.
        broken: The reason why the chapter could not be executed to the end, or an empty string.
    """

    title: str
    code: str
    claims: list[ClaimResult] = field(default_factory=list)
    errors: list[ErrorResult] = field(default_factory=list)
    printed: list[dict[str, str]] = field(default_factory=list)
    broken: str = ""


def bits_of_section(chapter: str, headings: tuple[str, ...]) -> list[str]:
    """Return the catalogue ids for the nearest heading that has any, or an empty list.

    Args:
        chapter: The stem of the chapter's file.
        headings: The headings above a cell, nearest first.
    """
    for heading in headings:
        found = [b.id for b in load().values() if (b.chapter, b.section) == (chapter, heading)]
        if found:
            return found
    return []


def first_difference(stored: str, here: str) -> dict[str, str] | None:
    """Return the first pair of lines that differ, or None if the outputs are similar.

    Outputs are also similar if only the order of their lines differs, because prints from a running
    program may arrive in any order.

    Args:
        stored: The output in the book.
        here: The output in another run.
    """
    columns = (stored.splitlines(), here.splitlines())
    in_order = itertools.zip_longest(*(sorted(c, key=without_noise) for c in columns), fillvalue="")
    if all(is_similar(*pair) for pair in in_order):
        return None
    for pair in itertools.zip_longest(*columns, fillvalue=""):
        if not is_similar(*pair):
            return {"stored": pair[0].strip()[:MAX_LINE], "here": pair[1].strip()[:MAX_LINE]}
    return None


def record_cell(
    result: ChapterResult, chapter: str, cell: Cell, outputs: list[Any],
    claims: list[dict[str, Any]], logged: list[dict[str, Any]],
) -> None:  # fmt: skip
    """Append the claims, errors, and changed output of one executed cell to `result`.

    Args:
        result: The results of the chapter so far, which are modified in place.
        chapter: The stem of the chapter's file.
        cell: The executed cell.
        outputs: The outputs of the cell in this run.
        claims: The claims that the library recorded while the cell ran.
        logged: The errors that `ipython_error_logger` recorded while the cell ran.
    """
    section = cell.headings[0] if cell.headings else ""
    for claim in claims:
        keys: tuple[str, ...] = ("bit", "claim", "outcome", "made_for")
        keys += ("seen", "expected") if claim["outcome"] == "failed" else ()
        result.claims.append(ClaimResult(section=section, **{k: claim.get(k, "") for k in keys}))
    raised = next((output for output in outputs if output.output_type == "error"), None)
    tagged = "raises-exception" in cell.tags
    if raised is not None or tagged:
        error = ErrorResult(
            section,
            cell.declared,
            tagged,
            "comparison" in cell.tags,
            bits_of_section(chapter, cell.headings),
        )
        if raised is not None:
            # IPython does not run the logger for some errors, such as errors in a magic.
            shown = {"names": [raised.ename], "message": raised.evalue, "explained": []}
            entry = logged[-1] if logged else shown
            error.names, error.explained = entry["names"], entry["explained"]
            error.message = normalize_message(entry["message"])
        result.errors.append(error)
    if any(output.output_type == "stream" and "UsageError:" in output.text for output in outputs):
        result.broken = f"a magic failed in {section!r}"
    if raised is None and cell.stored is not None:
        pair = first_difference(cell.stored, printed_text(outputs))
        if pair:
            result.printed.append({"section": section, **pair})


def as_json_value(result: ChapterResult) -> dict[str, Any]:
    """Return a chapter's results as a JSON value, without the empty fields of claims."""
    everything = asdict(result)
    everything["claims"] = [{k: v for k, v in c.items() if v} for c in everything["claims"]]
    return everything
