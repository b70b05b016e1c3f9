"""Figures of chapter 10: bits, ranges, the order of dtypes, counters and sums that go astray."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits.compat import x64_on
from jaxbits.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Node = str
"""A dtype by its name, or one of Python's numbers: ``int``, ``float``, ``complex``."""

_FORMATS = {"float64": (11, 52), "float32": (8, 23), "bfloat16": (8, 7), "float16": (5, 10)}
_UNSIGNED = {2: "uint16", 4: "uint32", 8: "uint64"}


def bits(value: float, dtype: str) -> str:
    """Return the bits of a number in a format: the sign, the exponent, the fraction.

    >>> bits(1.5, "bfloat16")
    '0 01111111 1000000'
    """
    with np.errstate(over="ignore"):
        kept = np.asarray(value).astype(jnp.dtype(dtype))
    text = f"{int(kept.view(_UNSIGNED[kept.itemsize])):0{8 * kept.itemsize}b}"
    exponent, _ = _FORMATS[dtype]
    return f"{text[0]} {text[1 : 1 + exponent]} {text[1 + exponent :]}"


@style.drawing
def bits_of(value: float) -> tuple[Figure, str]:
    """Draw the bits of a number in four formats of floats, and the number that each holds."""
    from matplotlib.patches import Rectangle

    fig, axes = style.figure(6, 4.1)
    style.blank(axes)
    left, said = 12, []
    for row, dtype in enumerate(_FORMATS):
        y = -row * 3.0
        sign, exponent, fraction = bits(value, dtype).split()
        with np.errstate(over="ignore"):
            kept = float(np.asarray(value).astype(jnp.dtype(dtype)))
        said.append(f"{dtype} holds {kept:.17g} with {len(fraction)} bits of fraction")
        axes.text(0, y + 1.55, dtype, fontweight="bold", va="center")
        axes.text(64, y + 1.55, f"{kept:.17g}", ha="right", va="center", family="monospace")
        parts = ((sign, style.RED), (exponent, style.ORANGE), (fraction, style.BLUE))
        start = left - 1 - len(exponent)
        for text, colour in parts:
            for bit in text:
                axes.add_patch(
                    Rectangle(
                        (start + 0.06, y),
                        0.88,
                        1,
                        facecolor=colour if bit == "1" else style.FILL,
                        edgecolor=colour,
                        linewidth=0.8,
                    )
                )
                start += 1
        if start < 64:
            axes.plot([start + 0.3, 64], [y + 0.5] * 2, color=style.LINE, linewidth=1, ls=":")
            lost = f"{52 - len(fraction)} bits of the fraction gone"
            axes.text(
                64,
                y - 0.5,
                lost if np.isfinite(kept) else "too large for its exponent",
                ha="right",
                va="center",
                fontsize=10,
                color=style.MUTED,
            )
    for x, text, colour in (
        (0, "sign", style.RED),
        (8, "exponent", style.ORANGE),
        (22, "fraction", style.BLUE),
    ):
        axes.add_patch(Rectangle((x, 3.0), 1, 0.9, facecolor=colour))
        axes.text(x + 1.6, 3.45, text, va="center", fontsize=10)
    axes.set_xlim(-0.5, 64.5)
    axes.set_ylim(-10, 4.2)
    return fig, f"The bits of {float(value)!r}. " + "; ".join(said) + "."


@style.drawing
def token_counter(per_step: int = 2**22) -> tuple[Figure, str]:
    """Draw a counter of tokens in int32, added up by JAX, against the true count."""
    steps = 2048
    counted = np.asarray(jnp.cumsum(jnp.full(steps, per_step, jnp.int32)))
    true = per_step * np.arange(1, steps + 1, dtype=np.int64)
    fig, axes = style.figure(6, 3.4)
    axes.plot(true / 1e9, color=style.GREEN, label="tokens seen")
    broken = counted.astype(float)
    broken[1:][np.diff(broken) < 0] = np.nan
    axes.plot(broken / 1e9, color=style.RED, label="the int32 counter")
    axes.axhline(np.iinfo(np.int32).max / 1e9, color=style.MUTED, linewidth=1, linestyle=":")
    axes.text(2040, 2.25, "2³¹ − 1", ha="right", va="bottom", fontsize=10, color=style.MUTED)
    axes.set_title("A counter that comes back negative")
    axes.set_xlabel("training steps")
    axes.set_ylabel("tokens, thousand millions")
    axes.legend(loc="upper left")
    first = int(np.argmax(counted < 0)) + 1
    alt = (
        f"Tokens counted over {steps} training steps of {per_step} tokens. The truth is a straight "
        f"line up to {true[-1] / 1e9:.1f} thousand million. The int32 counter follows it to step "
        f"{first - 1}, falls to {counted[first - 1] / 1e9:.1f} at step {first}, and climbs again."
    )
    return fig, alt


@style.drawing
def out_of_range() -> tuple[Figure, str]:
    """Draw which uint8 becomes of a number, converted from a float and from an integer."""
    numbers = np.arange(-300, 601)
    ways = {
        "from a float: stops at the end": jnp.asarray(numbers, jnp.float32).astype(jnp.uint8),
        "from an integer: goes round": jnp.asarray(numbers).astype(jnp.uint8),
    }
    fig, axes = style.figure(6, 3.4)
    axes.axvspan(0, 255, color=style.PALE_GREEN)
    for (name, became), colour, width in zip(
        ways.items(), (style.BLUE, style.ORANGE), (4, 1.8), strict=True
    ):
        values = np.asarray(became).astype(float)
        values[1:][np.diff(values) < -100] = np.nan
        axes.plot(numbers, values, color=colour, label=name, linewidth=width)
    axes.set_ylim(-15, 345)
    axes.set_yticks([0, 128, 255])
    axes.set_xticks([-256, 0, 255, 512])
    axes.set_title("The same number, cast to uint8")
    axes.set_xlabel("the number")
    axes.set_ylabel("what uint8 holds")
    axes.legend(loc="upper left")
    ends = {name: (int(v[0]), int(v[-1])) for name, v in ways.items()}
    told = "; ".join(f"{name}: -300 is {low}, 600 is {high}" for name, (low, high) in ends.items())
    return fig, f"Two curves that agree between 0 and 255 only. {told}."


_ORDER = (
    "bool int uint8 uint16 uint32 uint64 int8 int16 int32 int64 float bfloat16 float16 float32 "
    "float64 complex complex64 complex128"
)
_PYTHONS: dict[Node, Any] = {"int": 0, "float": 0.0, "complex": 0j}


def joined(a: Node, b: Node) -> Node:
    """Return what two kinds of number become together, in JAX, with x64 on.

    >>> joined("int32", "float16"), joined("uint64", "int64"), joined("int8", "float")
    ('float16', 'float', 'float')
    """
    with x64_on():
        given = (_PYTHONS[n] if n in _PYTHONS else jnp.dtype(n) for n in (a, b))
        dtype, weak = jax.dtypes.result_type(*given, return_weak_type_flag=True)
    for name, number in _PYTHONS.items() if weak else ():
        if type(number) is type(dtype.type(0).item()):
            return name
    return str(dtype)


def lattice() -> list[tuple[Node, Node]]:
    """Return the edges of JAX's order of dtypes: from each to the next that it may become.

    They are computed: one kind is below another when both together become the other, and an edge
    joins those with none in between.

    >>> [edge for edge in lattice() if edge[0] == "int32"]
    [('int32', 'int64')]
    """
    nodes = _ORDER.split()
    below = {(a, b) for a, b in itertools.permutations(nodes, 2) if joined(a, b) == b}
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
    """Draw JAX's order of dtypes; every arrow is computed by `jax.dtypes.result_type`."""
    fig, axes = style.figure(6, 6.6)
    style.blank(axes)
    edges = lattice()
    for a, b in edges:
        (x, y), (u, v) = _PLACES[a], _PLACES[b]
        axes.annotate(
            "",
            (u, v - 0.27),
            (x, y + 0.27),
            arrowprops={
                "arrowstyle": "-|>",
                "color": style.MUTED,
                "linewidth": 1.2,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
    for name, (x, y) in _PLACES.items():
        _box(axes, x, y, name)
    axes.text(-2.35, 10.2, "Python's numbers", color=style.PURPLE, fontsize=10, va="center")
    axes.text(-2.35, 9.8, "64 bits: with x64 on", color=style.MUTED, fontsize=10, va="center")
    axes.text(2.35, 0.1, "two kinds meet\nwhere their ways up\nmeet first", ha="right", fontsize=10)
    axes.set_xlim(-2.4, 2.4)
    axes.set_ylim(-0.4, 10.5)
    ways = ", ".join(f"{a} to {b}" for a, b in edges)
    return fig, f"Kinds of numbers, an arrow from each to the next wider ones: {ways}."


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


@jax.jit
def _count(start: jax.Array, steps: int) -> jax.Array:
    total: jax.Array = lax.fori_loop(0, steps, lambda _, s: s + jnp.ones((), s.dtype), start)
    return total


def running_sum(dtype: str, most: int) -> tuple[list[int], list[float]]:
    """Add ones in a dtype, and return the sum after 1, 2, 4, … of them.

    >>> running_sum("bfloat16", 512)[1][-3:]
    [128.0, 256.0, 256.0]
    """
    total, done = jnp.zeros((), dtype), 0
    counts, sums = [], []
    stuck = False
    for count in (2**k for k in range(most.bit_length())):
        if not stuck:  # a sum that an addition leaves as it is will stay so
            total, stuck = _count(total, count - done), bool(total + 1 == total)
        counts.append(count)
        sums.append(float(total))
        done = count
    return counts, sums


@style.drawing
def running_sums() -> tuple[Figure, str]:
    """Draw the running sum of ones in three formats against the truth."""
    most = 2**27
    fig, axes = style.figure(6, 4)
    axes.plot([1, most], [1, most], color=style.MUTED, linewidth=1.2, ls=":", label="the truth")
    told = []
    tones = {"float32": style.GREEN, "float16": style.BLUE, "bfloat16": style.RED}
    for dtype, tone in tones.items():
        counts, sums = running_sum(dtype, most)
        axes.plot(counts, sums, color=tone, label=dtype)
        axes.text(most * 1.5, sums[-1], f"{sums[-1]:,.0f}", va="center", color=tone, fontsize=10)
        told.append(f"{dtype} stops at {sums[-1]:.0f}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.6, most * 300)
    axes.set_xticks([1, 100, 10_000, 1_000_000, 100_000_000])
    axes.set_ylim(0.7, most * 3)
    axes.set_title("Adding ones, one at a time")
    axes.set_xlabel("ones added")
    axes.set_ylabel("the sum")
    axes.legend(loc="upper left")
    return fig, f"Running sums of ones on logarithmic axes: {', '.join(told)}."


@style.drawing
def column_minus_row(predictions: Any, targets: Any) -> tuple[Figure, str]:
    """Draw the squared differences of a column of predictions and a row of targets.

    On the diagonal stand those that were meant.
    """
    from matplotlib.patches import Rectangle

    column, row = np.asarray(predictions).reshape(-1, 1), np.asarray(targets).reshape(-1)
    squares = (column - row) ** 2
    n = len(row)
    fig, axes = style.figure(4.6, 3.9)
    style.blank(axes)
    for i, j in itertools.product(range(n), range(n)):
        meant = i == j
        axes.add_patch(
            Rectangle(
                (j, -i),
                0.94,
                0.94,
                facecolor=style.PALE_GREEN if meant else style.PALE_RED,
                edgecolor=style.GREEN if meant else style.LINE,
                linewidth=2 if meant else 1,
            )
        )
        axes.text(j + 0.47, 0.47 - i, f"{squares[i, j]:g}", ha="center", va="center")
    for k in range(n):
        axes.text(k + 0.47, 1.3, f"{row[k]:g}", ha="center", va="center", fontweight="bold")
        axes.text(-0.4, 0.47 - k, f"{column[k, 0]:g}", ha="center", va="center", fontweight="bold")
    axes.text(n / 2, 1.85, f"targets, shape ({n},)", ha="center", va="center", fontsize=10)
    axes.text(
        -1.0,
        1 - n / 2,
        f"predictions, shape ({n}, 1)",
        ha="center",
        va="center",
        rotation=90,
        fontsize=10,
    )
    meant_mean, all_mean = float(np.diagonal(squares).mean()), float(squares.mean())
    axes.text(
        n / 2 - 0.6,
        0.3 - n,
        f"mean of the diagonal {meant_mean:g}, of all {all_mean:g}",
        ha="center",
        va="center",
        fontsize=10,
    )
    axes.set_xlim(-1.4, n + 0.2)
    axes.set_ylim(-n - 0.1, 2.2)
    alt = (
        f"A table of {n} by {n} squared differences of predictions and targets. The diagonal, "
        f"which was meant, has the mean {meant_mean:g}; all of it has the mean {all_mean:g}."
    )
    return fig, alt


@style.drawing
def scalar_table(table: dict[bool, dict[str, list[str]]]) -> tuple[Figure, str]:
    """Draw what becomes of bfloat16, float16 and float32 beside a number of each kind.

    Args:
        table: for x64 off and on, by the way the number is written, the names of the three
            dtypes that come out.
    """
    from matplotlib.patches import Rectangle

    short = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"}
    columns = list(short)[:3]
    fig, axes = style.figure(6, 0.55 * len(table[False]) + 1.3)
    style.blank(axes)
    said = []
    for block, on in enumerate((False, True)):
        left = block * 3.4
        axes.text(left + 1.5, 1.75, f"x64 {'on' if on else 'off'}", ha="center", fontweight="bold")
        for column, dtype in enumerate(columns):
            axes.text(left + column + 0.5, 1.2, f"{short[dtype]} ×", ha="center", color=style.MUTED)
        for row, (name, became) in enumerate(table[on].items()):
            if not on:
                axes.text(-0.25, 0.45 - row, name, ha="right", va="center", fontsize=10.5)
            said.append(f"x64 {'on' if on else 'off'}, {name}: {', '.join(became)}")
            for column, (dtype, result) in enumerate(zip(columns, became, strict=True)):
                kept = dtype == result
                tone = style.PALE_RED if result == "float64" else style.PALE_ORANGE
                axes.add_patch(
                    Rectangle(
                        (left + column, -row),
                        0.94,
                        0.9,
                        facecolor=style.PALE_GREEN if kept else tone,
                        edgecolor=style.LINE,
                    )
                )
                axes.text(
                    left + column + 0.47,
                    0.45 - row,
                    short[result],
                    ha="center",
                    va="center",
                    fontsize=10.5,
                    fontweight="normal" if kept else "bold",
                )
    axes.set_xlim(-3.6, 6.5)
    axes.set_ylim(-len(table[False]) + 0.9, 2.2)
    return fig, f"What becomes of {', '.join(columns)}. " + "; ".join(said) + "."
