"""The recorded scores of the detectors on the labelled cases, one file an environment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from book_tools.versions.compare_runs import Difference

FOLDER = "detectors"
CASES = ("given_cases", "own_cases")

Scored = Mapping[str, Any]
"""What ``reference/detectors/<environment>.json`` holds."""


def read(root: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the recorded scores by environment, of those that there are."""
    files = {name: root / "reference" / FOLDER / f"{name}.json" for name in names}
    return {n: json.loads(f.read_text("utf8")) for n, f in files.items() if f.is_file()}


def text(scored: Scored) -> str:
    """Return scores as the text of their file, four numbers a line.

    >>> print(text({"own": [1, 2, 0, 2]}), end="")
    {
     "own": [1, 2, 0, 2]
    }
    """
    plain = json.dumps(scored, ensure_ascii=False, indent=1) + "\n"
    return re.sub(r"\[([^\[\]{}]*)\]", lambda m: f"[{' '.join(m[1].split())}]", plain)


def summed(scores: Iterable[Sequence[int]]) -> list[int]:
    """Add scores up.

    >>> summed([[1, 2, 0, 2], [3, 3, 1, 4]])
    [4, 5, 1, 6]
    """
    return [sum(column) for column in zip(*scores, strict=True)] or [0, 0, 0, 0]


def of(scored: Scored, check: str) -> list[int]:
    """Return the score of a check on all cases."""
    return summed([scored["detectors"][check][cases] for cases in CASES])


def total(scored: Scored) -> str:
    """Return how all detectors do, in a few words."""
    found, positives, alarms, negatives = summed(of(scored, c) for c in scored["detectors"])
    return f"{found} of {positives} found, {alarms} false alarms in {negatives}"


def differences(scored: Mapping[str, Scored]) -> dict[str, list[Difference]]:
    """Return, by environment, the checks whose scores are not those in the book's."""
    book = scored.get("lock")
    if book is None:
        return {}
    found: dict[str, list[Difference]] = {}
    for name, other in scored.items():
        for check, here in book["detectors"].items():
            there = other["detectors"].get(check, {})
            for cases in CASES:
                if here[cases] != there.get(cases):
                    what = f"{there.get(cases)} on {cases}, in the book {here[cases]}"
                    found.setdefault(name, []).append(
                        Difference(f"detector {check}", what, False, in_the_book=False)
                    )
    return found
