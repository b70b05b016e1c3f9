"""Figures for chapter 04: where bad indices land, their gradients, and checks that find them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book.experiments.index_checks import check_reports, example_accesses
from jaxbits.book.experiments.index_landing import (
    LENGTH,
    AccessResult,
    read_cells,
    sliced_cells,
    written_cells,
)
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLAMP, FILL, DROP, SHIFT = style.ORANGE, style.PURPLE, style.RED, style.BLUE
"""The colors that the chapter uses for the four effects of an out-of-range index."""


def _cells(axes: Axes, y: float, hit: dict[int, str]) -> None:
    from matplotlib.patches import Rectangle

    for i in range(LENGTH):
        face = hit.get(i, style.FILL)
        axes.add_patch(Rectangle((i, y), 1, 0.8, facecolor=face, edgecolor=style.LINE, linewidth=1))
        axes.text(i + 0.5, y + 0.4, str(i), ha="center", va="center", fontsize=10)


def _nominal(index: int) -> int:
    """Return the position of an index, with negative indices counted from the end as in Python."""
    return index if index >= 0 else index + LENGTH


def _arrow(axes: Axes, y: float, landing: AccessResult, miss: str, color: str) -> None:
    place = _nominal(landing.index) + 0.5
    inside = 0 <= place < LENGTH
    tone = style.MUTED if inside else color
    level = y + 1.22
    axes.text(
        place,
        level,
        f"{landing.index:+d}".replace("+", "").replace("-", "−"),
        ha="center",
        va="center",
        fontsize=10,
        color=tone,
        fontweight="bold",
    )
    if not landing.cells:
        axes.text(place, y + 0.4, miss, ha="center", va="center", fontsize=10, color=tone)
        return
    end = landing.cells[0] + 0.5
    side = 0 if inside else -0.45 if place > end else 0.45
    bend = "arc3" if inside else f"arc3,rad={0.3 if place > end else -0.3}"
    start = (place + side, level - 0.14 if inside else level)
    axes.annotate(
        "",
        (end - side / 2, y + 0.8),
        start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": tone,
            "linewidth": 1.6,
            "connectionstyle": bend,
            "shrinkA": 2,
            "shrinkB": 0,
        },
    )


def _row(
    axes: Axes, y: float, title: str, landings: list[AccessResult], miss: str, color: str, pale: str
) -> None:
    axes.text(-2.2, y + 1.78, title, fontsize=11, fontweight="bold", color=color, va="center")
    outside = [at for at in landings if not 0 <= _nominal(at.index) < LENGTH]
    _cells(axes, y, {cell: pale for at in outside for cell in at.cells})
    for landing in landings:
        _arrow(axes, y, landing, miss, color)


@style.drawing
def where_indices_land() -> tuple[Figure, str]:
    """Show where the indices 11, −1, and −11 and an oversized slice land in a ten-element array.

    The function finds each result by experiment.
    """
    fig, axes = style.figure(6, 6)
    style.blank(axes)
    indices = (11, -1, -11)
    _row(
        axes,
        8.1,
        "x[i] reads: clamp to the nearest end",
        [read_cells(lambda x, i: x[i], i) for i in indices],
        "",
        CLAMP,
        style.PALE_ORANGE,
    )
    _row(
        axes,
        5.4,
        "jnp.take(x, i) reads: fill with NaN",
        [read_cells(jnp.take, i) for i in indices],
        "NaN",
        FILL,
        style.PALE_PURPLE,
    )
    _row(
        axes,
        2.7,
        "x.at[i].set(v) writes: drop",
        [written_cells(i) for i in indices],
        "lost",
        DROP,
        style.PALE_RED,
    )
    size, y = 4, 0.0
    window = sliced_cells(8, size)
    axes.text(
        -2.2,
        y + 1.78,
        "dynamic_slice(x, (8,), (4,)): shift the window",
        fontsize=11,
        fontweight="bold",
        color=SHIFT,
        va="center",
    )
    _cells(axes, y, dict.fromkeys(window.cells, style.PALE_BLUE))
    axes.plot([8, 8 + size], [y + 1.2] * 2, color=style.MUTED, linewidth=3, linestyle=":")
    axes.text(
        8 + size, y + 1.52, "asked for", ha="right", va="center", fontsize=10, color=style.MUTED
    )
    low, high = window.cells[0], window.cells[-1] + 1
    axes.plot([low, high], [y + 0.98] * 2, color=SHIFT, linewidth=3)
    axes.text(low - 0.2, y + 1.02, "given", ha="right", va="center", fontsize=10, color=SHIFT)
    axes.set_xlim(-2.3, 12.6)
    axes.set_ylim(-0.1, 10.2)
    alt = (
        "Four rows of ten numbered cells. Reading x[11] lands in cell 9 and x[-11] in cell 0. "
        "jnp.take gives NaN for 11 and for -11. Writing with .at at 11 or -11 is lost. In these "
        "three rows -1 is the last cell. A dynamic_slice of four cells from 8 is moved back to the "
        f"cells {window.cells[0]} to {window.cells[-1]}."
    )
    return fig, alt


@style.drawing
def gradient_of_out_of_bounds_read() -> tuple[Figure, str]:
    """Draw the gradient of ``x[[0, 5]].sum()`` for a three-element `x` in several indexing modes.

    Each cell is the derivative with respect to one element, in reverse mode (`jax.jacrev`) and in
    forward mode (`jax.jacfwd`).
    """
    from matplotlib.patches import Rectangle

    ways: list[tuple[str, Callable[[jax.Array], jax.Array]]] = [
        ("x[i]", lambda x: x[jnp.array([0, 5])].sum()),
        ("mode='clip'", lambda x: x.at[jnp.array([0, 5])].get(mode="clip").sum()),
        ("mode='fill'", lambda x: x.at[jnp.array([0, 5])].get(mode="fill").sum()),
    ]
    x = jnp.array([1.0, 2.0, 3.0])
    fig, axes = style.figure(6, 3.1)
    style.blank(axes)
    said = []
    for row, (name, read) in enumerate(ways):
        y = -row * 1.25
        axes.text(-0.25, y + 0.5, name, ha="right", va="center", fontsize=11)
        for block, (mode, derive) in enumerate((("reverse", jax.jacrev), ("forward", jax.jacfwd))):
            values = np.asarray(derive(read)(x))
            said.append(f"{name} {mode} {values.astype(int).tolist()}")
            for i, value in enumerate(values):
                left = block * 4.2 + i * 1.2
                lost = name == "x[i]" and i == 2
                axes.add_patch(
                    Rectangle(
                        (left, y),
                        1.1,
                        1,
                        edgecolor=style.RED if lost else style.LINE,
                        linewidth=2.4 if lost else 1,
                        facecolor=style.PALE_BLUE if value else style.FILL,
                    )
                )
                axes.text(left + 0.55, y + 0.5, f"{value:g}", ha="center", va="center")
    for block, title in enumerate(("reverse mode (grad)", "forward mode (jvp)")):
        axes.text(block * 4.2, 2.0, title, fontsize=11, fontweight="bold", va="center")
        for i in range(3):
            axes.text(
                block * 4.2 + i * 1.2 + 0.55,
                1.3,
                f"d/dx[{i}]",
                fontsize=10,
                ha="center",
                va="center",
                color=style.MUTED,
            )
    axes.set_xlim(-2.6, 8)
    axes.set_ylim(-2.7, 2.4)
    return fig, "Derivative of reading elements 0 and 5 of three: " + "; ".join(said) + "."


@style.drawing
def check_report_table() -> tuple[Figure, str]:
    """Draw a table that shows which checks report each of eleven bugs and four correct accesses.

    The function runs every check on every access.
    """
    from matplotlib.patches import Rectangle

    heads = ("checkify", "check_static_\nindices", "behavior_\noob", "detect.out_\nof_bounds")
    found = check_reports()
    fig, axes = style.figure(6, 6.6)
    style.blank(axes)
    told = []
    y = 0.0
    for number, access in enumerate(example_accesses()):
        if number == 0 or access.is_bug != example_accesses()[number - 1].is_bug:
            title = "Bugs" if access.is_bug else "Correct code"
            y -= 1.25 if number else 0.0
            axes.text(-4.7, y + 0.45, title, fontsize=11, fontweight="bold", va="center")
        y -= 1.0
        axes.text(-4.7, y + 0.45, access.name, va="center", fontsize=10)
        told.append((access, [name for name, said in found[access.name].items() if said]))
        for column, said in enumerate(found[access.name].values()):
            good, bad = (style.PALE_GREEN, style.GREEN), (style.PALE_RED, style.RED)
            face, ink = (good if access.is_bug else bad) if said else (style.FILL, style.MUTED)
            word = ("found" if access.is_bug else "alarm") if said else "–"
            axes.add_patch(
                Rectangle((column * 2, y), 1.9, 0.88, facecolor=face, edgecolor=style.LINE)
            )
            axes.text(
                column * 2 + 0.95,
                y + 0.42,
                word,
                ha="center",
                va="center",
                fontsize=10,
                color=ink,
                fontweight="bold" if said else "normal",
            )
    for column, head in enumerate(heads):
        axes.text(column * 2 + 0.95, 0.5, head, fontsize=10, ha="center", va="center")
    axes.set_xlim(-4.8, 8)
    axes.set_ylim(y - 0.1, 1.1)
    lines = [
        f"{access.name} is {'a bug' if access.is_bug else 'correct'} and reported by "
        f"{', '.join(names) or 'none of them'}"
        for access, names in told
    ]
    return fig, "Which of four checks report an access. " + "; ".join(lines) + "."
