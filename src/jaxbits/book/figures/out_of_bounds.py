"""Figures of chapter 04: where bad indices land, their gradients, and which check finds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify

from jaxbits import detect
from jaxbits._jax_compat import recorded_error, switched
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LENGTH = 10
CLAMP, FILL, DROP, SHIFT = style.ORANGE, style.PURPLE, style.RED, style.BLUE
"""The four things that become of an index out of range, in one colour each for the chapter."""


@dataclass(frozen=True)
class AccessResult:
    """Where an index goes: the cells it reads or writes, none when it is filled or dropped."""

    index: int
    cells: tuple[int, ...]


def read_cells(read: Callable[[jax.Array, int], jax.Array], index: int) -> AccessResult:
    """Find the cell of a ten-element array that a read ends in, by reading from one.

    >>> read_cells(lambda x, i: x[i], 11).cells, read_cells(jnp.take, 11).cells
    ((9,), ())
    """
    value = float(read(jnp.arange(float(LENGTH)), index))
    return AccessResult(index, () if np.isnan(value) else (int(value),))


def written_cells(index: int) -> AccessResult:
    """Find the cell of a ten-element array that `.at[index].set` changes.

    >>> written_cells(-1).cells, written_cells(11).cells
    ((9,), ())
    """
    changed = jnp.zeros(LENGTH).at[index].set(1.0)
    return AccessResult(index, tuple(int(i) for i in np.flatnonzero(changed)))


def sliced_cells(start: int, size: int) -> AccessResult:
    """Find the cells of a ten-element array that `dynamic_slice` reads.

    >>> sliced_cells(8, 4).cells
    (6, 7, 8, 9)
    """
    read = lax.dynamic_slice(jnp.arange(LENGTH), (start,), (size,))
    return AccessResult(start, tuple(int(i) for i in read))


def _cells(axes: Axes, y: float, hit: dict[int, str]) -> None:
    from matplotlib.patches import Rectangle

    for i in range(LENGTH):
        face = hit.get(i, style.FILL)
        axes.add_patch(Rectangle((i, y), 1, 0.8, facecolor=face, edgecolor=style.LINE, linewidth=1))
        axes.text(i + 0.5, y + 0.4, str(i), ha="center", va="center", fontsize=10)


def _nominal(index: int) -> int:
    """The cell that Python's rule names: a negative index counts from the end, once."""
    return index if index >= 0 else index + LENGTH


def _arrow(axes: Axes, y: float, landing: AccessResult, miss: str, colour: str) -> None:
    place = _nominal(landing.index) + 0.5
    inside = 0 <= place < LENGTH
    tone = style.MUTED if inside else colour
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
    axes: Axes,
    y: float,
    title: str,
    landings: list[AccessResult],
    miss: str,
    colour: str,
    pale: str,
) -> None:
    axes.text(-2.2, y + 1.78, title, fontsize=11, fontweight="bold", color=colour, va="center")
    outside = [at for at in landings if not 0 <= _nominal(at.index) < LENGTH]
    _cells(axes, y, {cell: pale for at in outside for cell in at.cells})
    for landing in landings:
        _arrow(axes, y, landing, miss, colour)


@style.drawing
def where_indices_land() -> tuple[Figure, str]:
    """Draw where the indices 11, −1 and −11 of ten elements land, for four ways to use them.

    Nothing is assumed: each index is used on an array whose elements are their own positions.
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
    """Draw the gradient of `x[[0, 5]].sum()` for three elements, by way of reading and mode.

    Each row is a way to read, each cell the derivative with respect to one of the elements, by
    reverse mode (`jax.jacrev`) and by forward mode (`jax.jacfwd`).
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


@dataclass(frozen=True)
class Access:
    """One way to use an index, which every check is tried on.

    Attributes:
        name: how it is written in the figure.
        use: the function under test; its arguments are traced under `jit`.
        args: what it is called with.
        is_bug: whether a check should report it.
    """

    name: str
    use: Callable[..., jax.Array]
    args: tuple[jax.Array, ...]
    is_bug: bool = True


# The detector accepts any access whose statement has a `mode=`. Each function is therefore a
# statement of its own.
def _constant(x: jax.Array) -> jax.Array:
    return x[11]


def _brackets(x: jax.Array, i: jax.Array) -> jax.Array:
    return x[i]


def _take(x: jax.Array, i: jax.Array) -> jax.Array:
    return jnp.take(x, i)


def _write(x: jax.Array, i: jax.Array) -> jax.Array:
    return x.at[i].set(0.0)


def _slice(x: jax.Array, i: jax.Array) -> jax.Array:
    return lax.dynamic_slice(x, (i,), (5,))


def _segment_sum(x: jax.Array, i: jax.Array) -> jax.Array:
    return jax.ops.segment_sum(x, i, num_segments=10)


def _one_hot(i: jax.Array) -> jax.Array:
    return jax.nn.one_hot(i, 10)


def _switch(i: jax.Array) -> jax.Array:
    chosen: jax.Array = lax.switch(i, [lambda: 10.0, lambda: 11.0])
    return chosen


def _filled(x: jax.Array, i: jax.Array) -> jax.Array:
    return x.at[i].get(mode="fill", fill_value=0.0)


def _masked(x: jax.Array, i: jax.Array) -> jax.Array:
    return jnp.where(i < LENGTH, x[i], 0.0)


def _clipped(x: jax.Array, i: jax.Array) -> jax.Array:
    return x[jnp.clip(i, 0, LENGTH - 1)]


def _columns(x: jax.Array, i: jax.Array) -> jax.Array:
    return x.reshape(2, 5)[:, i]


def example_accesses() -> list[Access]:
    """Return the accesses of the figure: first the bugs, then code that is right."""
    x = jnp.arange(float(LENGTH))
    one, many, far = jnp.array(11), jnp.array([2, 11]), jnp.array([2, -11])
    ten = jnp.arange(LENGTH).at[-1].set(11)
    return [
        Access("x[11]", _constant, (x,)),
        Access("x[i], i = 11", _brackets, (x, one)),
        Access("x[i], i = [2, 11]", _brackets, (x, many)),
        Access("x[i], i = [2, −11]", _brackets, (x, far)),
        Access("jnp.take(x, i)", _take, (x, many)),
        Access("x.at[i].set(0)", _write, (x, many)),
        Access("dynamic_slice", _slice, (x, jnp.array(8))),
        Access("segment_sum", _segment_sum, (x, ten)),
        Access("x[−1], an off-by-one", _brackets, (x, jnp.array(-1))),
        Access("one_hot(11, 10)", _one_hot, (one,)),
        Access("switch(11, …)", _switch, (one,)),
        Access("mode='fill'", _filled, (x, many), is_bug=False),
        Access("where(i < 10, x[i], 0)", _masked, (x, many), is_bug=False),
        Access("table[:, i], legal i", _columns, (x, jnp.array([1, 3])), is_bug=False),
        Access("x[clip(i, 0, 9)]", _clipped, (x, many), is_bug=False),
    ]


def _by_checkify(access: Access) -> bool:
    checked = checkify.checkify(jax.jit(access.use), errors=checkify.index_checks)
    return checked(*access.args)[0].get() is not None


def _by_static_check(access: Access) -> bool:
    with switched("jax_check_static_indices", True):
        try:
            jax.jit(access.use)(*access.args)
        except IndexError:
            return True
    return False


def _by_oob_switch(access: Access) -> bool:
    with switched("jax_error_checking_behavior_oob", "raise"):
        try:
            jax.jit(access.use)(*access.args)
        except ValueError:  # jax 0.7.2 cannot trace `jnp.take` with this switch
            return False
        return recorded_error() is not None


def _by_detector(access: Access) -> bool:
    found = detect.out_of_bounds(access.use, *access.args)
    return any(finding.severity == "error" for finding in found)


CHECKS: dict[str, Callable[[Access], bool]] = {
    "checkify.index_checks": _by_checkify,
    "jax_check_static_indices": _by_static_check,
    "jax_error_checking_behavior_oob": _by_oob_switch,
    "detect.out_of_bounds": _by_detector,
}
"""The four ways to look for a bad index, each as a function that says whether it reports one."""


def check_reports() -> dict[str, dict[str, bool]]:
    """Return for each access by name, and for each check by name, whether it reports the access.

    >>> check_reports()["x[i], i = 11"]["checkify.index_checks"]
    True
    """
    return {
        access.name: {name: check(access) for name, check in CHECKS.items()}
        for access in example_accesses()
    }


@style.drawing
def check_report_table() -> tuple[Figure, str]:
    """Draw which check reports which access: eleven bugs, and four that are right.

    Every check is run on every access when the figure is drawn.
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
