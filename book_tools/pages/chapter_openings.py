"""Read what the opening of a chapter says about its prerequisites and its length."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_NEEDS = re.compile(r"^\*\*You need\*\* (.+?) \*\*Time\*\*: (.+)$", re.M)
_CHAPTER_LINK = re.compile(r"\]\((\d\d-[\w-]+)\.ipynb")
_DURATION = re.compile(r"(\d+) minutes|(half an hour)|((?:an|another) hour)")


class OpeningError(ValueError):
    """Raised if a chapter does not state its prerequisites or its length as the others do."""


@dataclass(frozen=True)
class Opening:
    """What a chapter's opening says.

    Attributes:
        needs: The stems of the chapters to which *You need* links.
        reading: The minutes for the main sections.
        also_sharp: The minutes for *Also sharp*, or 0 if the chapter does not say.
        exercises: The minutes for the exercises.
    """

    needs: tuple[str, ...]
    reading: int
    also_sharp: int
    exercises: int


def parse_opening(text: str) -> Opening:
    """Return what the opening of a chapter says.

    Args:
        text: The chapter as MyST text.

    Raises:
        OpeningError: If the opening lacks the line with *You need* and *Time*, or if that line does
            not state two or three durations.

    Example:
        >>> parse_opening("**You need** NumPy. **Time**: 45 minutes, and 30 minutes to practice.")
        Opening(needs=(), reading=45, also_sharp=0, exercises=30)
    """
    found = _NEEDS.search(text)
    if not found:
        raise OpeningError("the opening must have a line with **You need** and **Time**")
    minutes = [
        int(number) if number else 30 if half else 60
        for number, half, _ in _DURATION.findall(found[2])
    ]
    if len(minutes) not in (2, 3):
        raise OpeningError(f"**Time** must state two or three durations, got {found[2]!r}")
    needs = tuple(dict.fromkeys(_CHAPTER_LINK.findall(found[1])))
    also_sharp = minutes[1] if len(minutes) == 3 else 0
    return Opening(needs, minutes[0], also_sharp, minutes[-1])


def read_openings(root: Path) -> dict[str, Opening]:
    """Return what the opening of each chapter says, keyed by the stem of the chapter's file.

    Raises:
        OpeningError: If an opening does not have the expected form. The message names the chapter.
    """
    found = {}
    for path in sorted(root.glob("chapters/*.md")):
        try:
            found[path.stem] = parse_opening(path.read_text("utf8"))
        except OpeningError as error:
            raise OpeningError(f"{path.stem}: {error}") from None
    return found
