"""Figures for chapter 09: guarded gradients, and what each tool for finding NaNs misses."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify

from jaxbits import detect
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Function = Callable[..., Any]
Case = tuple[Any, ...]
"""A function and its arguments."""


def _bad(axes: Axes, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> int:
    """Shade the x range where `y` is NaN, and return the number of NaNs."""
    nans = np.isnan(y)
    if nans.any():
        low, high = x[nans].min(), x[nans].max()
        axes.axvspan(low, high, facecolor=style.PALE_RED, edgecolor=style.RED, linewidth=0)
        middle = (low + high) / 2
        look: dict[str, Any] = {"ha": "center", "va": "center", "color": style.RED}
        axes.text(middle, 0.5, "NaN", fontsize=12, fontweight="bold", **look)
    return int(nans.sum())


@style.drawing
def gradient_plots(versions: Mapping[str, Function]) -> tuple[Figure, str]:
    """Plot the common value of several versions of a function, and the gradient of each.

    Args:
        versions: A dict that maps the name of each version to a function of a scalar. The figure
            shows the value of the first one.
    """
    from matplotlib.figure import Figure as Empty

    x = jnp.arange(-80.0, 161.0) / 40
    fig = Empty(figsize=(6, 1.6 + 1.35 * len(versions)), layout="constrained")
    rows = fig.subplots(
        len(versions) + 1, 1, sharex=True, height_ratios=[1.3, *[1] * len(versions)]
    )
    values = [np.asarray(jax.jit(jax.vmap(f))(x)) for f in versions.values()]
    rows[0].plot(x, values[0], color=style.INK)
    same = all(np.allclose(v, values[0], rtol=1e-6, atol=1e-6) for v in values)
    title = "value of all versions" if same else "value of the first version"
    rows[0].set_title(title, fontsize=11)
    said = []
    colors = (style.ORANGE, style.BLUE, style.GREEN, style.PURPLE)
    for axes, (name, f), color in zip(rows[1:], versions.items(), colors, strict=False):
        slope = np.asarray(jax.jit(jax.vmap(jax.grad(f)))(x))
        axes.plot(x, slope, color=color)
        nans = _bad(axes, np.asarray(x), slope)
        axes.set_title(f"gradient: {name}", fontsize=11, color=color)
        axes.set_ylim(0, 1.25)
        axes.set_yticks([0, 0.5, 1])
        upto = f"NaN for every x up to {np.asarray(x)[np.isnan(slope)].max():g}" if nans else ""
        said.append(f"{name}: {upto or 'finite everywhere'}")
    rows[-1].set_xlabel("x, a reward (points)")
    alike = "The values are equal and finite" if same else "The values differ"
    return fig, f"Four plots over x from -2 to 4. {alike}. The gradients: {'; '.join(said)}."


def is_found_by_debug_nans(function: Function, *args: Any) -> bool:
    """Return whether a call raises an error under `jax.debug_nans`.

    Args:
        function: The function to call.
        *args: The arguments to pass to it.

    >>> is_found_by_debug_nans(jnp.sqrt, jnp.float32(-1)), jax.config.jax_debug_nans
    (True, False)
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()), jax.debug_nans(True):
            jax.block_until_ready(function(*args))
    except FloatingPointError:
        return True
    return False


def is_found_by_checkify(function: Function, *args: Any) -> bool:
    """Return whether `checkify.nan_checks` reports an error in a call.

    Args:
        function: The function to call.
        *args: The arguments to pass to it.

    >>> is_found_by_checkify(jnp.sqrt, jnp.float32(-1))
    True
    """
    error, _ = checkify.checkify(function, errors=checkify.nan_checks)(*args)
    return error.get() is not None


def is_found_by_detector(function: Function, *args: Any) -> bool:
    """Return whether `jaxbits.detect.nan` reports a finding for a call.

    Args:
        function: The function to call.
        *args: The arguments to pass to it.

    >>> is_found_by_detector(jnp.sqrt, jnp.float32(-1))
    True
    """
    return bool(detect.nan(function, *args))


TOOLS: dict[str, Callable[..., bool]] = {
    "debug_nans": is_found_by_debug_nans,
    "checkify": is_found_by_checkify,
    "detect.nan": is_found_by_detector,
}


def nan_reports(
    harmful: Mapping[str, Case], harmless: Mapping[str, Case]
) -> dict[str, dict[str, str]]:
    """Run every NaN-finding tool on every case, and return the outcomes.

    Args:
        harmful: A dict of cases with a harmful NaN.
        harmless: A dict of cases without a NaN or with a harmless one.

    Returns:
        A dict that maps each case to the outcome of each tool. The outcome is ``found`` or
        ``missed`` for a harmful case, and ``false alarm`` or ``quiet`` for a harmless one.

    >>> nan_reports({"root": (jnp.sqrt, jnp.float32(-1))}, {})["root"]["debug_nans"]
    'found'
    """
    said: dict[str, dict[str, str]] = {}
    for cases, alarm, silence in ((harmful, "found", "missed"), (harmless, "false alarm", "quiet")):
        for name, (function, *args) in cases.items():
            found = {way: see(function, *args) for way, see in TOOLS.items()}
            said[name] = {way: alarm if seen else silence for way, seen in found.items()}
    return said


_GROUNDS = {
    "found": style.PALE_GREEN,
    "missed": style.PALE_RED,
    "false alarm": style.PALE_ORANGE,
    "quiet": style.FILL,
}


@style.drawing
def nan_tool_table(found: Mapping[str, Mapping[str, str]], harmful: int) -> tuple[Figure, str]:
    """Draw the outcomes of `nan_reports` as a table.

    Args:
        found: The result of `nan_reports`.
        harmful: The number of harmful cases, which come first.
    """
    from matplotlib.patches import Rectangle

    fig, axes = style.figure(6, 0.36 * len(found) + 1.5)
    style.blank(axes)
    axes.set_title("Three ways to find a NaN")
    width, left = 2.0, 4.35
    y = 0.0
    for column, name in enumerate(TOOLS):
        place = left + width * (column + 0.5)
        axes.text(place, 0.75, name, ha="center", va="center", fontsize=11, fontweight="bold")
    for row, (name, outcomes) in enumerate(found.items()):
        if row in (0, harmful):
            y -= 0.55 if row else 0.0
            text = "harmful NaN" if row == 0 else "harmless NaN"
            axes.text(0, y + (0.75 if row == 0 else 0.0), text, fontsize=11, fontweight="bold",
                      color=style.MUTED, va="center")  # fmt: skip
            y -= 0.0 if row == 0 else 0.75
        axes.text(0, y, name, va="center", fontsize=10)
        for column, outcome in enumerate(outcomes.values()):
            ground = _GROUNDS[outcome]
            corner = (left + width * column + 0.05, y - 0.44)
            axes.add_patch(Rectangle(corner, width - 0.1, 0.88, facecolor=ground, edgecolor="none"))
            place = left + width * (column + 0.5)
            axes.text(place, y, outcome, ha="center", va="center", fontsize=10)
        y -= 1.0
    axes.set_xlim(-0.05, left + width * len(TOOLS) + 0.05)
    axes.set_ylim(y + 0.4, 1.2)
    rows = "; ".join(f"{n}: {', '.join(o.values())}" for n, o in found.items())
    return fig, f"A table of what {', '.join(TOOLS)} report for each call. {rows}."
