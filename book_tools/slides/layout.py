"""Choose type sizes that fit a slide, and shorten outputs that do not."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

WIDTH, HEIGHT = 1280, 720  # in CSS pixels
SMALLEST = 24  # the smallest type on a slide, in CSS pixels
_SIZES = (44, 40, 36, 32, 30, 28, 26, SMALLEST)
# A monospaced font is about 0.6 em wide. The margins leave room for a wider one.
_CHARACTER = 0.603
_LINE = 1.3
_COLUMN = 1158
_BODY = 545  # the height between a title of one line and the footer
_TITLE_LINE, _TITLE_COLUMNS = 39, 58
_LEAD_LINE, _LEAD_COLUMNS = 38, 68
_CUT = "⋯"


def count_columns(size: int) -> int:
    """Return how many characters of code fit on one line at a type size."""
    return int(_COLUMN / (_CHARACTER * size))


def wrap(text: str, size: int) -> list[str]:
    """Return the lines of an output as a browser wraps them at a type size."""
    columns = count_columns(size)
    lines: list[str] = []
    for line in text.splitlines():
        pieces = textwrap.wrap(line, columns, break_long_words=True, drop_whitespace=False)
        lines += pieces or [""]
    return lines


def shorten_output(text: str, lines: int) -> tuple[str, bool]:
    """Return the first lines of an output, and whether lines were left out.

    An ellipsis takes the place of what was left out.
    """
    every = text.splitlines()
    heights = [len(wrap(line, SMALLEST)) or 1 for line in every]
    if sum(heights) <= lines:
        return text, False
    kept: list[str] = []
    for line, height in zip(every, heights, strict=True):
        if height > lines - 1:
            break
        kept.append(line)
        lines -= height
    if kept:
        return "\n".join([*kept, _CUT]), True
    room = lines * count_columns(SMALLEST) - 2
    return f"{every[0][:room].rstrip()} {_CUT}", True


@dataclass(frozen=True)
class Fit:
    """How a slide's code and output fit.

    Attributes:
        size: The type size of the code and the output in CSS pixels.
        fits: Whether everything fits on one slide at this size.
    """

    size: int
    fits: bool


def fit(title: str, lead: str, code: str, outputs: list[str], below: int = 0) -> Fit:
    """Return the largest type size at which code and its outputs fit on one slide.

    Args:
        title: The title, without markup.
        lead: The text above the code, without markup.
        code: The code. Its lines are never wrapped.
        outputs: The outputs, whose long lines the browser wraps.
        below: The height of whatever is below them, in CSS pixels.
    """
    code_lines = code.splitlines()
    longest = max((len(line) for line in code_lines), default=0)
    room = _BODY - _TITLE_LINE * (len(textwrap.wrap(title, _TITLE_COLUMNS)) - 1)
    if lead:
        room -= _LEAD_LINE * len(textwrap.wrap(lead, _LEAD_COLUMNS)) + 8
    # The code and each output have a margin and padding.
    room -= 30 + 14 * len(outputs) + below
    for size in _SIZES:
        count = len(code_lines) + sum(len(wrap(output, size)) for output in outputs)
        if longest <= count_columns(size) and count * size * _LINE <= room:
            return Fit(size, True)
    return Fit(SMALLEST, False)
