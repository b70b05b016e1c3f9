"""The one look of the book's figures: palette, fonts, and how a figure becomes a picture.

A stored figure is an SVG on a light card, readable wherever a notebook opens. The book's pages
carry a second one for the dark theme: the same drawing with every colour of `DARK` exchanged.
"""

from __future__ import annotations

import functools
import hashlib
import html
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")

INK = "#1b2733"
MUTED = "#525f6a"
LINE = "#c6ced6"
PAPER = "#fdfdfc"
FILL = "#eef1f4"
BLUE = "#1f6fb2"
ORANGE = "#b85c00"
GREEN = "#25763b"
PURPLE = "#7a4fa3"
RED = "#b3261e"
PALE_BLUE = "#d9e8f5"
PALE_ORANGE = "#f9e3cc"
PALE_GREEN = "#d8eedd"
PALE_PURPLE = "#e9dff3"
PALE_RED = "#f8dad7"

DARK = {
    INK: "#e8edf2",
    MUTED: "#a9b5c0",
    LINE: "#46525e",
    PAPER: "#161b21",
    FILL: "#232b34",
    BLUE: "#6db3ee",
    ORANGE: "#f0a35c",
    GREEN: "#74c98a",
    PURPLE: "#c3a1e6",
    RED: "#f2857d",
    PALE_BLUE: "#1c3a55",
    PALE_ORANGE: "#4d3213",
    PALE_GREEN: "#1c4127",
    PALE_PURPLE: "#3a2a4d",
    PALE_RED: "#4f2320",
}
"""Every colour a figure may use, with the one that stands for it in the dark theme."""

_SETTINGS: Any = {
    "svg.fonttype": "path",
    "svg.hashsalt": "jaxbits",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.facecolor": PAPER,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": f"cycler('color', {[BLUE, ORANGE, GREEN, PURPLE, RED]})",
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": PAPER,
    "legend.frameon": False,
    "lines.linewidth": 2,
}


@dataclass(frozen=True)
class Picture:
    """A finished figure: its SVG, and what it shows, in words for those who cannot see it."""

    svg: str
    alt: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture: {self.alt}"


def drawing(draw: Callable[P, tuple[Figure, str]]) -> Callable[P, Picture]:
    """Make a function that draws a figure and says what it shows return a finished picture.

    The function is run under the book's settings and returns the figure, drawn with the colours
    of this module only, and its alternative text.
    """

    @functools.wraps(draw)
    def finished(*args: P.args, **kwargs: P.kwargs) -> Picture:
        import matplotlib

        with matplotlib.rc_context(_SETTINGS):
            fig, alt = draw(*args, **kwargs)
            return _picture(fig, alt)

    return finished


def figure(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty figure of the given size in inches, and its axes.

    No wider than 6 inches: on a phone it is shown at two thirds of its size.
    """
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    return fig, fig.add_subplot()


def blank(axes: Axes) -> None:
    """Take ticks, spines and grid off the axes, for a drawing rather than a plot."""
    axes.set_axis_off()
    axes.grid(False)


def _picture(fig: Figure, alt: str) -> Picture:
    if not alt.strip():
        raise ValueError("a drawing should say what it shows, its alternative text was empty")
    out = io.StringIO()
    fig.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    strange = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg)) - set(DARK)
    if strange:
        raise ValueError(
            f"colours that jaxbits.book.figures.style.DARK has no twin of: {sorted(strange)}"
        )
    label = html.escape(" ".join(alt.split()), quote=True)
    # The drawing starts at its root: the XML prologue names a DTD on another host.
    svg = svg[svg.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    return Picture(_ids_in_order(svg, alt), alt)


def _ids_in_order(svg: str, alt: str) -> str:
    """Name what a drawing refers to by its order, not by a digest of coordinates.

    Matplotlib's digests take in digits that are not drawn and differ from machine to machine.
    Names still differ from figure to figure: a notebook shows several in one page.
    """
    ids = list(dict.fromkeys(re.findall(r'\bid="([a-z][0-9a-f]{10})"', svg)))
    if not ids:
        return svg
    any_id = re.compile("|".join(ids))
    shape = re.sub(r"-?\d+(?:\.\d+)?", "", any_id.sub("", svg)) + alt
    figure = hashlib.sha256(shape.encode()).hexdigest()[:8]
    names = {old: f"{old[0]}{n}-{figure}" for n, old in enumerate(ids, 1)}
    return any_id.sub(lambda found: names[found[0]], svg)
