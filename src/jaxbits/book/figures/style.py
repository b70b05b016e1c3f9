"""The style of the book's figures: colors, fonts, and the conversion to SVG.

A stored figure is an SVG on a light card, so it is readable wherever you open the notebook. For
the dark theme, the book's pages also contain a copy that uses the replacement colors in `DARK`.
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
SMALLEST = 10
"""The smallest font size in points, which is 9 pixels on a phone (see _static/content.css)."""
COLORS = (BLUE, ORANGE, GREEN, PURPLE, RED)
PALE_COLORS = (PALE_BLUE, PALE_ORANGE, PALE_GREEN, PALE_PURPLE, PALE_RED)

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
"""Every color that a figure may use, with its replacement in the dark theme."""

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
    """A finished figure as an SVG, with a description for people who cannot see it."""

    svg: str
    alt: str

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture: {self.alt}"


def drawing(draw: Callable[P, tuple[Figure, str]]) -> Callable[P, Picture]:
    """Turn a function that draws a figure into one that returns a `Picture`.

    The wrapped function returns the figure and its alternative text. It runs with the book's
    Matplotlib settings, and it may use only the colors in this module.

    Raises:
        ValueError: If the alternative text is blank, or if the figure has a color that is not in
            `DARK` or text smaller than `SMALLEST`.
    """

    @functools.wraps(draw)
    def finished(*args: P.args, **kwargs: P.kwargs) -> Picture:
        import matplotlib

        with matplotlib.rc_context(_SETTINGS):
            fig, alt = draw(*args, **kwargs)
            return _picture(fig, alt)

    return finished


def figure(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty figure and its axes.

    Args:
        width: The width in inches, at most 6. A phone shrinks a figure of that width to
            two-thirds of its size.
        height: The height in inches.
    """
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    return fig, fig.add_subplot()


def blank(axes: Axes) -> None:
    """Remove the ticks, spines, and grid from the axes of a diagram."""
    axes.set_axis_off()
    axes.grid(False)


def rounded_box(
    axes: Axes,
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    rounding: float = 0.12,
    **look: Any,
) -> None:
    """Draw a box with rounded corners.

    Args:
        axes: The axes to draw on.
        x: The x coordinate of the left edge.
        y: The y coordinate of the lower edge.
        width: The width in the units of the axes.
        height: The height in the units of the axes.
        rounding: The radius of the corners.
        look: Properties of the patch, such as ``facecolor``.
    """
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={rounding}"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, **look))


def _picture(fig: Figure, alt: str) -> Picture:
    from matplotlib.text import Text

    if not alt.strip():
        raise ValueError("the alternative text of a figure must not be empty")
    sizes = [float(text.get_fontsize()) for text in fig.findobj(Text) if text.get_text().strip()]
    if sizes and min(sizes) < SMALLEST:
        raise ValueError(f"text must have at least {SMALLEST} points, got {min(sizes):g}")
    out = io.StringIO()
    fig.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    strange = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg)) - set(DARK)
    if strange:
        raise ValueError(f"colors must be keys of style.DARK; got {', '.join(sorted(strange))}")
    label = html.escape(" ".join(alt.split()), quote=True)
    # Drop the XML prologue, because it names a DTD on another host.
    svg = svg[svg.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    return Picture(_ids_in_order(svg, alt), alt)


def _ids_in_order(svg: str, alt: str) -> str:
    """Replace the ids in an SVG with numbers, so that every machine writes the same bytes.

    To make ids, Matplotlib hashes coordinates with more digits than it draws, and the extra digits
    differ between machines. A hash of the figure keeps the ids unique among the figures on a page.
    https://github.com/matplotlib/matplotlib/blob/v3.11.2/lib/matplotlib/backends/backend_svg.py
    """
    ids = list(dict.fromkeys(re.findall(r'\bid="([a-z][0-9a-f]{10})"', svg)))
    if not ids:
        return svg
    any_id = re.compile("|".join(ids))
    shape = re.sub(r"-?\d+(?:\.\d+)?", "", any_id.sub("", svg)) + alt
    figure = hashlib.sha256(shape.encode()).hexdigest()[:8]
    names = {old: f"{old[0]}{n}-{figure}" for n, old in enumerate(ids, 1)}
    return any_id.sub(lambda found: names[found[0]], svg)
