"""Compare a recorded run with the book, and separate declared from undeclared differences.

A difference is declared if the book states it, which means that a claim names the versions or
backends to which it applies. The wording of errors and printed text may also differ. Any other
difference is undeclared and makes `make versions` fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from book_tools.versions.version_noise import message_without_noise

Record = Mapping[str, Any]
"""The content of ``reference/versions/<environment>.json``."""

_LINKS = re.compile(r"\s*(?:See|see) https?://\S+.*$", re.MULTILINE)

_Finding = tuple[str, str, bool]
"""A section, a description of what differs in it, and whether the difference is declared."""


@dataclass(frozen=True)
class Difference:
    """One difference between a run and the book.

    Attributes:
        where: The chapter and the section, or the test.
        what: A description of the difference.
        declared: Whether the book states the difference.
        in_the_book: Whether the difference is in the book. Otherwise, it is in the library's tests
            or in the detectors' scores.
    """

    where: str
    what: str
    declared: bool
    in_the_book: bool = True


def comparable_message(error: Mapping[str, Any]) -> str:
    """Return an error's message without noise and without links, which name the JAX version."""
    return message_without_noise(_LINKS.sub("", error["message"])).strip()


def align_errors(
    here: Mapping[str, Any], book: Mapping[str, Any] | None
) -> Iterator[tuple[Any, Any]]:
    """Yield each error in a chapter, paired with the book's error from the same cell or with None.

    Args:
        here: The record of the chapter.
        book: The book's record of the chapter, or None. It is ignored if its code differs.
    """
    stored = book["errors"] if book is not None and book["code"] == here["code"] else []
    if len(stored) != len(here["errors"]):  # One of the two runs had an unexpected error.
        stored = [None] * len(here["errors"])
    yield from zip(here["errors"], stored, strict=True)


def _compare_claims(
    chapter: Mapping[str, Any], book: Mapping[str, Any] | None
) -> Iterator[_Finding]:
    """Yield the claims that failed, were not made, or were never reached."""
    for claim in chapter["claims"]:
        quoted, section = f"“{claim['claim']}”", claim.get("section", "")
        if claim["outcome"] == "failed":
            expected = f", expected {claim['expected']}" if "expected" in claim else ""
            yield section, f"✗ {quoted}: saw {claim.get('seen', 'nothing')}{expected}", False
        elif claim["outcome"] != "held":
            where = claim.get("made_for", "")
            reason = f"made for {where}" if where else f"{claim['outcome']}, no reason given"
            yield section, f"– {quoted} ({reason})", bool(where)
    if book is not None and book["code"] == chapter["code"]:
        made = {(claim["bit"], claim["claim"]) for claim in chapter["claims"]}
        for claim in book["claims"]:
            if (claim["bit"], claim["claim"]) not in made:
                yield claim.get("section", ""), f"claim never reached: “{claim['claim']}”", False


def _check_explanation(error: Mapping[str, Any]) -> str:
    """Return what is wrong with the explanation of an error, or an empty string if nothing is."""
    found = error["explained"]
    if isinstance(found, str):
        return f"explain failed on {error['names'][0]}: {found}"
    if not found:
        message = " ".join(error["message"].split())[:100]
        return f"explain does not recognize {error['names'][0]}: {message}"
    if error["bits"] and found[0] not in error["bits"]:
        return f"explain ranks {found[0]} first for {error['names'][0]}, not {error['bits'][0]}"
    return ""


def _compare_errors(
    chapter: Mapping[str, Any], book: Mapping[str, Any] | None
) -> Iterator[_Finding]:
    """Yield the cells whose error differs from the announced one or is worded differently."""
    for error, stored in align_errors(chapter, book):
        section, names = error["section"], error["names"]
        if not names:
            yield section, f"should raise {error['declared'] or 'an error'}, raised nothing", False
            continue
        if not error["tagged"]:
            message = " ".join(error["message"].split())[:200]
            yield section, f"should raise nothing, raised {names[0]}: {message}", False
            continue
        if error["declared"] not in names:
            announced = error["declared"] or "a “# raises:” line"
            yield section, f"raised {names[0]} instead of {announced}", False
        if not error["comparison"] and (problem := _check_explanation(error)):
            yield section, problem, False
        if stored and stored["names"] and comparable_message(stored) != comparable_message(error):
            yield section, f"the message of {names[0]} differs", True


def find_differences(record: Record, book: Record | None = None) -> list[Difference]:
    """Return all differences between a recorded run and the book, in the book's order.

    Args:
        record: The run to compare with the book.
        book: The run in the locked environment. It provides the messages to compare with and the
            claims that the run must reach.
    """
    found = []
    for stem, chapter in record["chapters"].items():
        stored = book["chapters"].get(stem) if book is not None else None
        if chapter["broken"]:
            found.append(Difference(stem, chapter["broken"], False))
        findings = (*_compare_claims(chapter, stored), *_compare_errors(chapter, stored))
        for section, what, declared in findings:
            found.append(Difference(f"{stem} · {section}", what, declared))
        for output in chapter["printed"]:
            found.append(Difference(f"{stem} · {output['section']}", "prints different text", True))
    for test, message in record["tests"]["failed"].items():
        found.append(Difference(f"test {test}", message, False, in_the_book=False))
    return found


def fully_checked_environments(records: Mapping[str, Record]) -> list[dict[str, str]]:
    """Return the environments in which all differences from the book are declared.

    The result has the form that the library reports.

    The library's own tests do not count, because one of them reads this list.
    """
    book = records.get("lock")
    return [
        {**record["versions"], "backend": record["backend"], "device": record["device"]}
        for record in records.values()
        if all(d.declared or not d.in_the_book for d in find_differences(record, book))
    ]
