"""Figures for chapter 03: which conversions share memory, and how long an update takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book import measurements
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = 64
"""The alignment, in bytes, that a NumPy buffer needs for JAX to share it on a CPU."""

CONVERSIONS: dict[str, Callable[[Any], jax.Array]] = {
    "jax.device_put(a)": jax.device_put,
    "device_put(…, may_alias=False)": lambda a: jax.device_put(a, may_alias=False),
    "jnp.from_dlpack(a)": jnp.from_dlpack,
    "jnp.asarray(a)": jnp.asarray,
    "jnp.array(a)": jnp.array,
    "jax.device_put(a.copy())": lambda a: jax.device_put(a.copy()),
}
"""The conversions from NumPy to JAX that the figure compares."""


def aligned_buffer(count: int, dtype: Any = np.float32, offset: int = 0) -> np.ndarray[Any, Any]:
    """Return a NumPy array of zeros whose address is `offset` bytes after a multiple of 64.

    Args:
        count: The number of elements.
        dtype: The dtype of the array.
        offset: The offset from a 64-byte boundary, in bytes.

    >>> aligned_buffer(4, offset=16).ctypes.data % 64
    16
    """
    size = count * np.dtype(dtype).itemsize
    raw = np.zeros(size + 2 * LINE, np.uint8)
    start = -raw.ctypes.data % LINE + offset
    return raw[start : start + size].view(dtype)


def shares_memory(way: Callable[[Any], jax.Array], given: np.ndarray[Any, Any]) -> bool:
    """Return whether writing to a NumPy array also changes the JAX array made from it.

    Args:
        way: A function that converts a NumPy array to a JAX array.
        given: The NumPy array, which this function overwrites.

    >>> shares_memory(lambda a: jax.device_put(a.copy()), aligned_buffer(4))
    False
    """
    given[:] = 1
    made = way(given).block_until_ready()
    given[:] = 2
    return bool(np.asarray(made)[0] == 2)


def _shown(axes: Axes, place: tuple[float, float], shared: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = place
    tone, pale = (style.RED, style.PALE_RED) if shared else (style.GREEN, style.PALE_GREEN)
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            1.6,
            0.72,
            boxstyle="round,pad=0,rounding_size=0.1",
            facecolor=pale,
            edgecolor=tone,
            linewidth=1.4,
        )
    )
    word = "shared" if shared else "copied"
    axes.text(x + 0.8, y + 0.36, word, ha="center", va="center", fontsize=10)


@style.drawing
def shared_memory_table() -> tuple[Figure, str]:
    """Draw a table that shows which conversions from NumPy to JAX share memory.

    The function tests each conversion by writing to the NumPy array and then reading the JAX
    array.
    """
    buffers = {
        "address is a\nmultiple of 64": aligned_buffer(16),
        "address is\n16 bytes later": aligned_buffer(16, offset=16),
        "float64, must\nbe converted": aligned_buffer(16, np.float64),
    }
    fig, axes = style.figure(6, 4.3)
    style.blank(axes)
    said = []
    for column, title in enumerate(buffers):
        axes.text(5.2 + 1.85 * column, 0.95, title, ha="center", va="center", fontsize=10)
    for row, (name, way) in enumerate(CONVERSIONS.items()):
        y = -row * 0.92 - 0.5
        axes.text(-0.1, y + 0.36, name, va="center", fontsize=10, family="DejaVu Sans Mono")
        found = []
        for column, given in enumerate(buffers.values()):
            shared = shares_memory(way, given)
            found.append(shared)
            _shown(axes, (4.4 + 1.85 * column, y), shared)
        said.append(f"{name} " + ", ".join("shares" if f else "copies" for f in found))
    axes.text(-0.1, 1.75, "A NumPy array a, passed to JAX on a CPU", fontsize=12, fontweight="bold")
    axes.set_xlim(-0.2, 9.8)
    axes.set_ylim(-5.2, 2.1)
    return fig, (
        "A table of ways to pass a NumPy array to JAX, for an array whose address is a multiple of "
        "64 bytes, one whose address is 16 bytes later, and one of float64: "
        + "; ".join(said)
        + "."
    )


def _format_number(value: float) -> str:
    """Return a positive number with two significant digits, or as an integer from 100 on.

    >>> _format_number(0.07557), _format_number(10.51), _format_number(23840.0)
    ('0.076', '11', '23,840')
    """
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.2g}"


@style.drawing
def update_times() -> tuple[Figure, str]:
    """Plot the recorded time needed to change one element against the size of the array."""
    run = measurements.load("array_updates")
    series = run["series"]
    kinds = {
        "eager .at": ("JAX, without jit", style.ORANGE, "o"),
        "jit": ("JAX, jit", style.BLUE, "s"),
        "jit, donated": ("JAX, jit and donated", style.GREEN, "^"),
        "NumPy, in place": ("NumPy, in place", style.PURPLE, "D"),
    }
    fig, axes = style.figure(6, 4)
    sizes = [4 * n / 1e6 for n in series["floats"]]
    said = []
    for kind, (label, tone, marker) in kinds.items():
        times = series[f"{kind}, µs"]
        axes.plot(sizes, times, color=tone, marker=marker, label=label)
        said.append(f"{label}, from {_format_number(times[0])} to {_format_number(times[-1])} µs")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{s:.0f} MB" if s >= 1 else f"{1000 * s:.0f} KB" for s in sizes])
    axes.set_yticks(
        [10.0**power for power in range(-1, 6)],
        ["0.1 µs", "1 µs", "10 µs", "0.1 ms", "1 ms", "10 ms", "0.1 s"],
    )
    axes.set_xlabel(f"size of the array\n{measurements.machine(run)}", fontsize=10)
    axes.set_ylabel("time of one update")
    axes.set_title("The time to change one element")
    axes.legend(loc="upper left", fontsize=10)
    return fig, (
        "A line chart on logarithmic axes of the time to change one element, for arrays from 4 KB "
        "to 40 MB: " + "; ".join(said) + "."
    )
