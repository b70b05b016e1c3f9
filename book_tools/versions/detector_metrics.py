"""Read, add up, and compare the detectors' recorded scores on the labeled cases.

A score is a list of four counts, namely the reported positives, all positives, false alarms, and
all negatives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from book_tools.versions.compare_runs import Difference

FOLDER = "detectors"
CASES = ("given_cases", "own_cases")

Scores = Mapping[str, Any]
"""The content of ``reference/detectors/<environment>.json``."""


def read_scores(root: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the recorded scores, keyed by environment. Environments without scores are omitted.

    Args:
        root: The project's folder.
        names: The environments to look for.
    """
    files = {name: root / "reference" / FOLDER / f"{name}.json" for name in names}
    return {n: json.loads(f.read_text("utf8")) for n, f in files.items() if f.is_file()}


def scores_json(scores: Scores) -> str:
    """Return scores as JSON, with each list of four counts on one line.

    Example:
        >>> print(scores_json({"own": [1, 2, 0, 2]}), end="")
        {
         "own": [1, 2, 0, 2]
        }
    """
    plain = json.dumps(scores, ensure_ascii=False, indent=1) + "\n"
    return re.sub(r"\[([^\[\]{}]*)\]", lambda m: f"[{' '.join(m[1].split())}]", plain)


def add_scores(scores: Iterable[Sequence[int]]) -> list[int]:
    """Return the elementwise sum of scores.

    Example:
        >>> add_scores([[1, 2, 0, 2], [3, 3, 1, 4]])
        [4, 5, 1, 6]
    """
    return [sum(column) for column in zip(*scores, strict=True)] or [0, 0, 0, 0]


def score_of_check(scores: Scores, check: str) -> list[int]:
    """Return the score of a check on all cases.

    Args:
        scores: The scores in one environment.
        check: The name of the check.
    """
    return add_scores([scores["detectors"][check][cases] for cases in CASES])


def summarize_scores(scores: Scores) -> str:
    """Return a phrase with the total score of all detectors."""
    found, positives, alarms, negatives = add_scores(
        score_of_check(scores, check) for check in scores["detectors"]
    )
    return f"{found} of {positives} found, {alarms} false alarms in {negatives}"


def compare_scores(scored: Mapping[str, Scores]) -> dict[str, list[Difference]]:
    """Return, for each environment, the scores that differ from the locked environment's."""
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
