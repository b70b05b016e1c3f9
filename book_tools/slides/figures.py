"""Measure the type in a figure, and divide figures whose type is too small into enlarged parts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

# The space for a figure on a slide in CSS pixels. `deck.css` leaves at least this much.
WIDTH, HEIGHT = 1232, 580
# Type of at least this size can be read from the last row, so the figure needs no enlargement.
_LARGE_ENOUGH = 22
_WANTED = 25
_OVERLAP = 0.2  # so that whatever one part cuts through is complete in another
_PIXELS_PER_POINT = 96 / 72
_SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt"[^>]*?\bheight="([\d.]+)pt"', re.S)
# Matplotlib writes text as outlines in units of a hundredth of the type size.
_TYPE = re.compile(r"\bscale\(([\d.]+) -[\d.]+\)")


@dataclass(frozen=True)
class Window:
    """A part of an enlarged figure.

    Attributes:
        width: The width of the whole figure in CSS pixels.
        top: The distance from the top of the figure to the part in CSS pixels.
    """

    width: int
    top: int


def find_smallest_type(svg: str) -> float:
    """Return the smallest type size in a figure that fits on a slide, in CSS pixels.

    Args:
        svg: A figure that Matplotlib wrote. If it contains no text, the result is infinite.
    """
    width, height, smallest = _measure(svg)
    return smallest * min(WIDTH / width, HEIGHT / height)


def divide_figure(svg: str) -> list[Window]:
    """Return the parts in which to show a figure so that its type is large, from top to bottom.

    The list is empty if the whole figure is readable or if enlarging it does not help.
    """
    width, height, smallest = _measure(svg)
    if find_smallest_type(svg) >= _LARGE_ENOUGH:
        return []
    scale = min(WIDTH / width, _WANTED / smallest)
    total = height * scale
    if total <= HEIGHT * 1.05:
        return []
    count = math.ceil((total - HEIGHT) / (HEIGHT * (1 - _OVERLAP))) + 1
    step = (total - HEIGHT) / (count - 1)
    return [Window(round(width * scale), round(number * step)) for number in range(count)]


def _measure(svg: str) -> tuple[float, float, float]:
    """Return a figure's width, height, and smallest type size in CSS pixels."""
    size = _SIZE.search(svg)
    if size is None:
        return WIDTH, HEIGHT, math.inf
    sizes = [float(scale) * 100 * _PIXELS_PER_POINT for scale in _TYPE.findall(svg)]
    width, height = (float(points) * _PIXELS_PER_POINT for points in size.groups())
    return width, height, min(sizes, default=math.inf)
