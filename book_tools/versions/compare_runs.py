"""Judge a recorded run: what differs from what the book says, and whether the book says so itself.

A difference is declared when the book states it: a claim that names the versions or backends it is
made for. Wording and printed text may differ. All else is undeclared, and fails `make versions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]
"""What ``reference/versions/<environment>.json`` holds."""

_LINKS = re.compile(r"\s*(?:See|see) https?://\S+.*$", re.MULTILINE)


@dataclass(frozen=True)
class Difference:
    """One thing that is not as the book has it."""

    where: str
    what: str
    declared: bool
    in_the_book: bool = True  # not in the library's tests


def wording(error: Mapping[str, Any]) -> str:
    """Return an error's message for comparison: without the links, which name JAX's version."""
    return _LINKS.sub("", error["message"]).strip()


def aligned(here: Mapping[str, Any], book: Mapping[str, Any] | None) -> Iterator[tuple[Any, Any]]:
    """Yield a chapter's errors, the book's beside them; None there where the text differs."""
    same_text = book is not None and book["code"] == here["code"]
    theirs = book["errors"] if book is not None and same_text else [None] * len(here["errors"])
    if len(theirs) != len(here["errors"]):  # a cell raised that should not have, in one of them
        theirs = [None] * len(here["errors"])
    yield from zip(here["errors"], theirs, strict=True)


def _claims(
    chapter: Mapping[str, Any], book: Mapping[str, Any] | None
) -> Iterator[tuple[str, str, bool]]:
    for claim in chapter["claims"]:
        said, section = f"“{claim['claim']}”", claim.get("section", "")
        if claim["outcome"] == "failed":
            expected = f", expected {claim['expected']}" if "expected" in claim else ""
            yield section, f"✗ {said}: saw {claim.get('seen', 'nothing')}{expected}", False
        elif claim["outcome"] != "held":
            where = claim.get("made_for", "")
            reason = f"made for {where}" if where else f"{claim['outcome']}, no reason given"
            yield section, f"– {said} ({reason})", bool(where)
    if book is not None and book["code"] == chapter["code"]:
        made = {(c["bit"], c["claim"]) for c in chapter["claims"]}
        for claim in book["claims"]:
            if (claim["bit"], claim["claim"]) not in made:
                yield claim.get("section", ""), f"claim never reached: “{claim['claim']}”", False


def _explained(error: Mapping[str, Any]) -> str:
    """Say what is wrong with the explanation of an error; empty when nothing is."""
    found = error["explained"]
    if isinstance(found, str):
        return f"explain failed on {error['names'][0]}: {found}"
    if not found:
        message = " ".join(error["message"].split())[:100]
        return f"explain knows nothing of {error['names'][0]}: {message}"
    if error["bits"] and found[0] not in error["bits"]:
        return f"explain puts {found[0]} first for {error['names'][0]}, not {error['bits'][0]}"
    return ""


def _errors(
    chapter: Mapping[str, Any], book: Mapping[str, Any] | None
) -> Iterator[tuple[str, str, bool]]:
    for error, stored in aligned(chapter, book):
        section, names = error["section"], error["names"]
        if not names:
            yield section, f"did not raise {error['declared'] or 'anything'}, and should", False
            continue
        if not error["tagged"]:
            message = " ".join(error["message"].split())[:200]
            yield section, f"raised {names[0]}, and should not: {message}", False
            continue
        if error["declared"] not in names:
            wanted = error["declared"] or "a “# raises:” line"
            yield section, f"raised {names[0]} instead of {wanted}", False
        if not error["comparison"] and (trouble := _explained(error)):
            yield section, trouble, False
        if stored and stored["names"] and wording(stored) != wording(error):
            yield section, f"{names[0]} is worded otherwise", True


def judge(record: Record, book: Record | None = None) -> list[Difference]:
    """Return all that differs in one recorded run, in the book's order.

    Args:
        record: the run.
        book: the run in the book's own environment, with which wording is compared and by which a
            claim that was never reached is missed.
    """
    found = []
    for stem, chapter in record["chapters"].items():
        stored = book["chapters"].get(stem) if book is not None else None
        if chapter["broken"]:
            found.append(Difference(stem, chapter["broken"], False))
        for section, what, declared in (*_claims(chapter, stored), *_errors(chapter, stored)):
            found.append(Difference(f"{stem} · {section}", what, declared))
        for output in chapter["printed"]:
            found.append(Difference(f"{stem} · {output['section']}", "prints something else", True))
    for test, message in record["tests"]["failed"].items():
        found.append(Difference(f"test {test}", message, False, in_the_book=False))
    return found


def fully_checked(records: Mapping[str, Record]) -> list[dict[str, str]]:
    """Return the environments in which the book holds as it says, as the library reports them.

    The library's tests have no say in it: one of them reads this very list.
    """
    book = records.get("lock")
    return [
        {**record["versions"], "backend": record["backend"], "device": record["device"]}
        for record in records.values()
        if all(d.declared or not d.in_the_book for d in judge(record, book))
    ]
