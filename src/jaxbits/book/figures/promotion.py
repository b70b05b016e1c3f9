"""Figures for chapter 10: type promotion, and broadcasting a column against a row."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._jax_compat import x64_on
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Node = str
"""The name of a dtype or of a Python scalar type (``int``, ``float``, or ``complex``)."""

_ORDER = (
    "bool int uint8 uint16 uint32 uint64 int8 int16 int32 int64 float bfloat16 float16 float32 "
    "float64 complex complex64 complex128"
)
_PYTHONS: dict[Node, Any] = {"int": 0, "float": 0.0, "complex": 0j}


def promoted_type(a: Node, b: Node) -> Node:
    """Return the type that JAX promotes two types to, with x64 on.

    Args:
        a: The name of a dtype or of a Python scalar type.
        b: The name of the other type.

    >>> promoted_type("int32", "float16"), promoted_type("uint64", "int64")
    ('float16', 'float')
    >>> promoted_type("int8", "float")
    'float'
    """
    with x64_on():
        given = (_PYTHONS[n] if n in _PYTHONS else jnp.dtype(n) for n in (a, b))
        dtype, weak = jax.dtypes.result_type(*given, return_weak_type_flag=True)
    for name, number in _PYTHONS.items() if weak else ():
        if type(number) is type(dtype.type(0).item()):
            return name
    return str(dtype)


def lattice_edges() -> list[tuple[Node, Node]]:
    """Return the edges of JAX's promotion lattice, from each type to the next wider types.

    A type is below another if promoting the two gives the other. An edge joins two types if no
    third type lies between them. https://docs.jax.dev/en/latest/jep/9407-type-promotion.html

    >>> [edge for edge in lattice_edges() if edge[0] == "int32"]
    [('int32', 'int64')]
    """
    nodes = _ORDER.split()
    below = {(a, b) for a, b in itertools.permutations(nodes, 2) if promoted_type(a, b) == b}
    return [
        (a, b)
        for a, b in sorted(below, key=lambda edge: (nodes.index(edge[0]), nodes.index(edge[1])))
        if not any((a, c) in below and (c, b) in below for c in nodes)
    ]


_PLACES: dict[Node, tuple[float, float]] = {
    "bool": (0, 0),
    "int": (0, 1),
    "uint8": (-1.25, 2),
    "uint16": (-1.25, 3),
    "uint32": (-1.25, 4),
    "uint64": (-1.25, 5),
    "int8": (1.25, 2),
    "int16": (1.25, 3),
    "int32": (1.25, 4),
    "int64": (1.25, 5),
    "float": (0, 6),
    "bfloat16": (-1.25, 7),
    "float16": (0, 7),
    "complex": (1.7, 8),
    "float32": (-0.6, 8),
    "float64": (-0.6, 9),
    "complex64": (1.25, 9),
    "complex128": (0.4, 10),
}


@style.drawing
def promotion_lattice() -> tuple[Figure, str]:
    """Draw JAX's promotion lattice, as computed with `jax.dtypes.result_type`."""
    fig, axes = style.figure(6, 6.6)
    style.blank(axes)
    edges = lattice_edges()
    for a, b in edges:
        (x, y), (u, v) = _PLACES[a], _PLACES[b]
        axes.annotate(
            "",
            (u, v - 0.27),
            (x, y + 0.27),
            arrowprops={"arrowstyle": "-|>", "color": style.MUTED, "shrinkA": 0, "shrinkB": 0},
        )
    for name, (x, y) in _PLACES.items():
        _box(axes, x, y, name)
    axes.text(-2.35, 10.2, "Python numbers (weak)", color=style.PURPLE, fontsize=10, va="center")
    axes.text(-2.35, 9.8, "64 bits (need x64)", color=style.MUTED, fontsize=10, va="center")
    rule = "the result of two types\nis the first type that\nboth can reach"
    axes.text(2.35, 0.1, rule, ha="right", fontsize=10)
    axes.set_title("JAX's type promotion lattice")
    axes.set_xlim(-2.4, 2.4)
    axes.set_ylim(-0.4, 10.5)
    arrows = ", ".join(f"{a} to {b}" for a, b in edges)
    return fig, f"Types, with an arrow from each type to the next wider ones: {arrows}."


def _box(axes: Axes, x: float, y: float, name: Node) -> None:
    weak = name in _PYTHONS
    wide = name in ("int64", "uint64", "float64", "complex128")
    axes.text(
        x,
        y,
        f"{name}*" if weak else name,
        ha="center",
        va="center",
        fontsize=10.5,
        fontweight="bold" if weak else "normal",
        color=style.PURPLE if weak else style.MUTED if wide else style.INK,
        bbox={
            "boxstyle": "round,pad=0.32",
            "facecolor": style.PALE_PURPLE if weak else style.FILL if wide else style.PALE_BLUE,
            "edgecolor": style.LINE,
        },
    )


def _cell(axes: Axes, x: float, y: float, text: str, face: str, edge: str = style.LINE) -> None:
    from matplotlib.patches import Rectangle

    width = 1 if edge == style.LINE else 2
    axes.add_patch(Rectangle((x, y), 0.94, 0.9, facecolor=face, edgecolor=edge, linewidth=width))
    axes.text(x + 0.47, y + 0.45, text, ha="center", va="center")


@style.drawing
def scalar_table(table: dict[bool, dict[str, list[str]]]) -> tuple[Figure, str]:
    """Draw a table of the dtypes that result from multiplying arrays by scalars.

    The arrays have the dtypes bfloat16, float16, and float32.

    Args:
        table: For x64 off and on, a dict that maps each scalar expression to the three
            resulting dtypes.
    """
    short = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"}
    columns = list(short)[:3]
    fig, axes = style.figure(6, 0.5 * len(table[False]) + 1.5)
    style.blank(axes)
    said = []
    for on, left in ((False, 0.0), (True, 3.4)):
        switch = f"x64 {'on' if on else 'off'}"
        axes.text(left + 1.5, 1.75, switch, ha="center", fontweight="bold")
        for column, dtype in enumerate(columns):
            axes.text(left + column + 0.5, 1.2, f"{short[dtype]} ×", ha="center", color=style.MUTED)
        for row, (name, became) in enumerate(table[on].items()):
            if not on:
                axes.text(-0.25, 0.45 - row, name, ha="right", va="center", fontsize=10.5)
            said.append(f"{switch}, {name}: {', '.join(became)}")
            for column, (dtype, result) in enumerate(zip(columns, became, strict=True)):
                wider = style.PALE_RED if result == "float64" else style.PALE_ORANGE
                tone = style.PALE_GREEN if dtype == result else wider
                _cell(axes, left + column, -row, short[result], tone)
    axes.set_title("Multiplying arrays by the number two")
    axes.set_xlim(-3.6, 6.5)
    axes.set_ylim(-len(table[False]) + 0.9, 2.2)
    return fig, f"The dtype of the product with {', '.join(columns)}. " + "; ".join(said) + "."


def attention_dtypes(scale: Any) -> dict[str, str]:
    """Return the dtype of each step of an attention layer on bfloat16 arrays.

    Args:
        scale: The number that divides the scores.

    >>> list(attention_dtypes(8.0).values())
    ['bfloat16', 'bfloat16', 'bfloat16', 'bfloat16', 'bfloat16']
    """
    q = jnp.ones((4, 64), jnp.bfloat16)
    scores = q @ q.T
    scaled = scores / scale
    weights = jax.nn.softmax(scaled)
    mixed = weights @ q
    steps = {
        "q @ k.T": scores,
        "/ scale": scaled,
        "softmax": weights,
        "@ v": mixed,
        "+ q": mixed + q,
    }
    return {name: str(value.dtype) for name, value in steps.items()}


@style.drawing
def dtypes_through_attention() -> tuple[Figure, str]:
    """Draw the dtype of each step of an attention layer, for a NumPy and for a Python scale."""
    fig, axes = style.figure(6, 2.1)
    style.blank(axes)
    said = []
    for row, (name, scale) in enumerate({"np.sqrt(64)": np.sqrt(64), "64 ** 0.5": 8.0}.items()):
        dtypes = attention_dtypes(scale)
        axes.text(-0.15, 0.45 - row, name, ha="right", va="center", fontsize=10.5)
        for column, (step, dtype) in enumerate(dtypes.items()):
            if not row:
                axes.text(column + 0.47, 1.2, step, ha="center", color=style.MUTED, fontsize=10.5)
            tone = style.PALE_GREEN if dtype == "bfloat16" else style.PALE_ORANGE
            short = {"bfloat16": "bf16", "float32": "f32"}.get(dtype, dtype)
            _cell(axes, column, -row, short, tone)
        said.append(f"with {name}: " + ", ".join(f"{step} {d}" for step, d in dtypes.items()))
    axes.set_title("The dtype after each step of attention")
    axes.set_xlim(-1.9, 5.1)
    axes.set_ylim(-1.15, 1.6)
    return fig, f"The dtypes of an attention layer, {'; '.join(said)}."


@style.drawing
def column_minus_row(predictions: Any, targets: Any) -> tuple[Figure, str]:
    """Draw the squared differences between a column of predictions and a row of targets.

    Only the differences on the diagonal are intended.

    Args:
        predictions: The predictions, which become a column.
        targets: The targets, which become a row.
    """
    column, row = np.asarray(predictions).reshape(-1, 1), np.asarray(targets).reshape(-1)
    squares = (column - row) ** 2
    n = len(row)
    fig, axes = style.figure(4.6, 4.2)
    style.blank(axes)
    for i, j in itertools.product(range(n), range(n)):
        tones = (style.PALE_GREEN, style.GREEN) if i == j else (style.PALE_RED, style.LINE)
        _cell(axes, j, -i, f"{squares[i, j]:g}", *tones)
    for k in range(n):
        axes.text(k + 0.47, 1.3, f"{row[k]:g}", ha="center", va="center", fontweight="bold")
        axes.text(-0.4, 0.47 - k, f"{column[k, 0]:g}", ha="center", va="center", fontweight="bold")
    axes.text(n / 2, 1.8, f"targets, shape ({n},)", ha="center", va="center", fontsize=10)
    side = f"predictions, shape ({n}, 1)"
    axes.text(-1.0, 1 - n / 2, side, ha="center", va="center", rotation=90, fontsize=10)
    meant_mean, all_mean = float(np.diagonal(squares).mean()), float(squares.mean())
    below = f"mean of the diagonal: {meant_mean:g}, of all: {all_mean:g}"
    axes.text(n / 2 - 0.6, 0.4 - n, below, ha="center", va="center", fontsize=10)
    axes.set_title("Squared differences")
    axes.set_xlim(-1.4, n + 0.2)
    axes.set_ylim(-n, 2.1)
    alt = (
        f"A table of {n} by {n} squared differences of predictions and targets. The diagonal, "
        f"which was intended, has the mean {meant_mean:g}. The whole table has the mean "
        f"{all_mean:g}."
    )
    return fig, alt
