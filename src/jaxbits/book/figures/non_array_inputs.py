"""Figures for chapter 05: the cost of list arguments, and NumPy functions on JAX arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book import measurements
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NUMPY_CALLS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "np.mean(x)": np.mean,
        "np.max(x)": np.max,
        "np.cumsum(x)": np.cumsum,
        "np.split(x, 3)": lambda x: np.split(x, 3),
        "np.ones(3) * x": lambda x: np.ones(3) * x,
        "np.clip(x, 0, 1)": lambda x: np.clip(x, 0, 1),
        "np.sort(x)": np.sort,
        "np.where(x > 1, x, 0)": lambda x: np.where(x > 1, x, 0),
        "np.concatenate([x, x])": lambda x: np.concatenate([x, x]),
        "np.median(x)": np.median,
        "np.linalg.norm(x)": np.linalg.norm,
    }
)
"""Calls of NumPy functions and operators on an array of three floats, by label."""


def _seconds(ms: float) -> str:
    """Format a time given in milliseconds, using seconds for times of 1000 ms and above."""
    return f"{ms / 1000:.2g} s" if ms >= 1000 else f"{ms:.2g} ms" if ms < 10 else f"{ms:.0f} ms"


@style.drawing
def first_call_times() -> tuple[Figure, str]:
    """Plot the recorded time of a first jitted call against the length of its list or array."""
    run = measurements.load("list_argument")
    series = run["series"]
    fig, axes = style.figure(6, 3.6)
    said = []
    for name, tone, marker in (("list", style.ORANGE, "o"), ("array", style.BLUE, "s")):
        times = series[f"{name}, ms"]
        axes.plot(series["n"], times, color=tone, marker=marker)
        inputs = series[f"{name}, inputs"][-1]
        label = f"{name}: {inputs} input{'s' * (inputs > 1)}, {_seconds(times[-1])}"
        up = 0.45 if name == "list" else 1.5
        axes.text(series["n"][-1], times[-1] * up, label, ha="right", va="center", color=tone)
        said.append(f"{name}, from {_seconds(times[0])} to {_seconds(times[-1])}")
    axes.texts[0].set_x(series["n"][-1] * 0.55)
    axes.texts[0].set_y(series["list, ms"][-1])
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low / 1.3, high * 1.6)
    powers = range(math.ceil(math.log10(low / 1.3)), math.floor(math.log10(high * 1.6)) + 1)
    axes.set_yticks([10**k for k in powers], [_seconds(10**k) for k in powers])
    axes.set_xticks([10, 100, 1000], ["10", "100", "1000"])
    axes.set_xlabel(f"length of the list or array\n{measurements.machine(run)}", fontsize=10)
    axes.set_ylabel("time of the first call")
    axes.set_title("First call of a jitted sum of n numbers")
    return fig, (
        f"Line plot with logarithmic axes of the time of a first call for {series['n'][0]} to "
        f"{series['n'][-1]} numbers: " + "; ".join(said) + "."
    )


@style.drawing
def list_conversion_times() -> tuple[Figure, str]:
    """Plot the recorded times of converting a list to an array, directly and through NumPy."""
    run = measurements.load("list_to_array")
    results = run["results"]
    fig, axes = style.figure(6, 2.9)
    said = []
    longest = max(result["median"] for result in results.values())
    for row, (name, result) in enumerate(reversed(results.items())):
        tone = style.ORANGE if name.endswith("jnp.array") else style.BLUE
        axes.barh(row, result["median"], color=tone, height=0.62)
        text = _seconds(result["median"])
        axes.text(result["median"] + longest / 60, row, text, va="center", fontsize=10)
        said.append(f"{name} {text}")
    axes.set_yticks(range(len(results)), list(reversed(results)))
    axes.set_xlim(0, longest * 1.2)
    axes.grid(axis="y", visible=False)
    label = f"time in ms, everything already compiled\n{measurements.machine(run)}"
    axes.set_xlabel(label, fontsize=10)
    axes.set_title("Time to convert a list to an array")
    return fig, "Bar chart of conversion times: " + "; ".join(reversed(said)) + "."


def executing_library(function: Callable[[Any], Any], x: Any) -> tuple[str, str]:
    """Return the library that executes a call on an array, and the library or error under `jit`.

    Args:
        function: A function of one array.
        x: The array to pass to it.
    """
    seen = []

    def traced(x: Any) -> int:
        seen.append(_kind(function(x)))
        return 0

    eager = _kind(function(x))
    try:
        jax.jit(traced)(x)
    except Exception as error:
        return eager, type(error).__name__
    return eager, seen[0]


def _kind(result: Any) -> str:
    leaves = jax.tree.leaves(result)
    return "JAX" if all(isinstance(leaf, jax.Array) for leaf in leaves) else "NumPy"


@style.drawing
def numpy_function_table(
    functions: Mapping[str, Callable[[Any], Any]] = NUMPY_CALLS,
) -> tuple[Figure, str]:
    """Draw a table that shows which library executes each function, on an array and under `jit`.

    Args:
        functions: A dict that maps the label of each function to the function itself, which takes
            an array of three floats.
    """
    x = jnp.array([3.0, 1.0, 2.0])
    rows = {name: executing_library(function, x) for name, function in functions.items()}
    looks = {
        "JAX": (style.PALE_BLUE, style.BLUE, "JAX array"),
        "NumPy": (style.PALE_ORANGE, style.ORANGE, "NumPy array"),
        "": (style.PALE_RED, style.RED, "error"),
    }
    fig, axes = style.figure(6, 0.36 * len(rows) + 0.7)
    style.blank(axes)
    said = []
    for n, (name, answers) in enumerate(rows.items()):
        y = len(rows) - 1 - n
        axes.text(0, y, name, family="DejaVu Sans Mono", fontsize=10, va="center")
        for column, answer in enumerate(answers):
            pale, strong, text = looks.get(answer, looks[""])
            left = 5.0 + 2.6 * column
            axes.barh(y, 2.5, left=left, height=0.86, color=pale)
            axes.text(left + 1.25, y, text, color=strong, fontsize=10, ha="center", va="center")
        eager, jitted = (looks.get(answer, looks[""])[2] for answer in answers)
        said.append(f"{name}: {eager}, under jit {jitted}")
    for column, title in enumerate(("without jit", "under jit")):
        left = 6.25 + 2.6 * column
        axes.text(left, len(rows), title, fontweight="bold", ha="center", va="center")
    axes.set_xlim(-0.1, 10.2)
    axes.set_ylim(-0.6, len(rows) + 0.5)
    return fig, "Table of what each call returns: " + "; ".join(said) + "."
