"""Figures for chapter 14: the parts of a traceback, the order of prints, and the losses."""

from __future__ import annotations

import contextlib
import functools
import io
import textwrap
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits._analysis.code_location import is_user_code
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MONO = "DejaVu Sans Mono"


_box = functools.partial(style.rounded_box, rounding=0.1)


def group_frames(error: BaseException) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return groups of consecutive frames with the same owner from a traceback, outermost first.

    Returns:
        A list of pairs of a label, ``"yours"`` or ``"a library"``, and the frames in the group.
        Each frame is a pair of the function's name and its source line.

    >>> try:
    ...     jnp.ones(3) @ jnp.ones(4)
    ... except TypeError as error:
    ...     [(whose, len(frames) > 0) for whose, frames in group_frames(error)]
    [('yours', True), ('a library', True)]
    """
    runs: list[tuple[str, list[tuple[str, str]]]] = []
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == __file__:
            continue
        whose = "yours" if is_user_code(frame.filename) else "a library"
        if not runs or runs[-1][0] != whose:
            runs.append((whose, []))
        runs[-1][1].append((frame.name, frame.line or ""))
    return runs


def _unfiltered(function: Callable[..., Any], *args: Any) -> Exception:
    """Return the error that a call raises, with its unfiltered traceback."""
    before = getattr(jax.config, "jax_traceback_filtering", "auto")
    jax.config.update("jax_traceback_filtering", "off")
    try:
        function(*args)
    except Exception as error:
        return error
    finally:
        jax.config.update("jax_traceback_filtering", before)
    raise ValueError(f"function must raise an error, but {function!r} did not")


@style.drawing
def traceback_frames(function: Callable[..., Any], *args: Any) -> tuple[Figure, str]:
    """Draw the traceback of a failing call, showing who owns each frame and what to read first.

    Args:
        function: A function that raises an error.
        *args: The arguments to pass to it.
    """
    error = _unfiltered(function, *args)
    runs = group_frames(error)
    rows: list[tuple[str, str, str]] = []
    for whose, frames in runs:
        if whose == "yours":
            rows += [(whose, name, line) for name, line in frames]
        else:
            noun = "frame" if len(frames) == 1 else "frames"
            rows.append((whose, f"{len(frames)} {noun} of JAX", ""))
    own = [n for n, (whose, _, _) in enumerate(rows) if whose == "yours"]
    height = 0.86
    fig, axes = style.figure(6, 0.46 * len(rows) + 1.75)
    style.blank(axes)
    said = []
    for n, (whose, name, line) in enumerate(rows):
        y = -n * height
        mine = whose == "yours"
        look = (style.PALE_BLUE, style.BLUE) if mine else (style.FILL, style.LINE)
        _box(axes, 0, y - 0.66, 7.3, 0.66, facecolor=look[0], edgecolor=look[1])
        if mine:
            text = f"{name}: {line}" if not name.startswith("<") else line
            axes.text(0.15, y - 0.34, text, fontsize=10, family=_MONO, va="center")
            said.append(f"your {name}, {line}")
        else:
            color = style.MUTED
            axes.text(0.15, y - 0.34, name, fontsize=10, va="center", color=color)
            said.append(name)
    message = textwrap.wrap(f"{type(error).__name__}: {error}", 44)
    y = -len(rows) * height - 0.1
    tall = 0.35 + 0.42 * len(message)
    _box(axes, 0, y - tall, 7.3, tall, facecolor=style.PALE_RED, edgecolor=style.RED)
    axes.text(0.15, y - tall / 2, "\n".join(message), fontsize=10, family=_MONO, va="center")
    reads = [(y - tall / 2, "1  what", "and which shapes")]
    if own:
        reads.append((-own[-1] * height - 0.33, "2  where", "your line that failed"))
    if len(own) > 1:
        reads.append((-own[-2] * height - 0.33, "3  called from", "the line that called it"))
    for at, head, tail in reads:
        axes.annotate(
            "", (7.35, at), (7.9, at), arrowprops={"arrowstyle": "-|>", "color": style.ORANGE}
        )
        axes.text(7.95, at + 0.17, head, fontsize=10, fontweight="bold", color=style.ORANGE,
                  va="center")  # fmt: skip
        axes.text(7.95, at - 0.2, tail, fontsize=10, color=style.MUTED, va="center")
    axes.set_title("The order in which to read a traceback")
    axes.set_xlim(-0.1, 11.2)
    axes.set_ylim(y - tall - 0.1, 0.15)
    return fig, (
        f"The traceback, with the outermost call first: {'; '.join(said)}. At the bottom is the "
        f"message of the {type(error).__name__}. Read the message first, then your innermost "
        "frame, and then your frame above it."
    )


def two_prints(value: Any, ordered: bool = False) -> Any:
    """Print a value as x and again as y with `jax.debug.print`, and return ten times the value."""
    jax.debug.print("x{}", value, ordered=ordered)
    scaled = 10 * value
    jax.debug.print("y{}", scaled // 10, ordered=ordered)
    return scaled


def printed_lines(function: Callable[..., Any], *args: Any) -> list[str]:
    """Return the lines that a call prints, including those that its callbacks print.

    Args:
        function: The function to call.
        *args: The arguments to pass to it.

    >>> printed_lines(jax.jit(two_prints), 3)
    ['x3', 'y3']
    """
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        jax.block_until_ready(function(*args))
        jax.effects_barrier()
    return text.getvalue().splitlines()


_WAYS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "for loop": lambda f: [f(v) for v in range(2)],
    "fori_loop": lambda f: lax.fori_loop(0, 2, lambda i, _: f(i), 0),
    "vmap": lambda f: jax.vmap(f)(jnp.arange(2)),
    "map, scan": lambda f: lax.map(f, jnp.arange(2)),
    "jit of two calls": lambda f: jax.jit(lambda v: (f(v), f(v + 1)))(0),
}


@style.drawing
def print_order() -> tuple[Figure, str]:
    """Draw the order in which the output of four prints arrives under several transformations."""
    from matplotlib.figure import Figure as Empty

    fig = Empty(figsize=(6, 3.3), layout="constrained")
    panels = fig.subplots(1, 2, sharey=True, width_ratios=[6, 4.15])
    tones = {
        "x0": (style.PALE_BLUE, style.BLUE),
        "y0": (style.PALE_ORANGE, style.ORANGE),
        "x1": (style.PALE_BLUE, style.BLUE),
        "y1": (style.PALE_ORANGE, style.ORANGE),
    }
    said = []
    for axes, ordered in zip(panels, (False, True), strict=True):
        style.blank(axes)
        for row, (name, way) in enumerate(_WAYS.items()):
            lines = printed_lines(way, lambda v, ordered=ordered: two_prints(v, ordered))
            written = list(lines) == ["x0", "y0", "x1", "y1"]
            for n, line in enumerate(lines):
                pale, tone = tones.get(line, (style.FILL, style.LINE))
                _box(axes, n + 0.06, -row - 0.62, 0.86, 0.56, facecolor=pale, edgecolor=tone)
                look: dict[str, Any] = {"ha": "center", "va": "center", "family": _MONO}
                axes.text(n + 0.49, -row - 0.34, line, fontsize=11, **look)
            if not ordered:
                axes.text(-0.12, -row - 0.34, name, ha="right", va="center", fontsize=10)
            how = "in the order of the code" if written else ", ".join(lines)
            said.append(f"{name}{', ordered' if ordered else ''}: {how}")
        axes.set_title("ordered=True" if ordered else "ordered=False", fontsize=11)
        axes.set_xlim(-1.9 if not ordered else -0.1, 4.05)
        axes.set_ylim(-len(_WAYS), 0.05)
        axes.annotate(
            "",
            (4, -len(_WAYS) + 0.18),
            (0, -len(_WAYS) + 0.18),
            arrowprops={"arrowstyle": "-|>", "color": style.MUTED},
        )
    fig.suptitle("The order in which four prints arrive", fontsize=12, fontweight="bold")
    return fig, f"Boxes in the order of arrival, from left to right. {'; '.join(said)}."


@style.drawing
def loss_after_fixes(runs: Mapping[str, Sequence[float]], baseline: float) -> tuple[Figure, str]:
    """Plot the losses of a training run after each fix, averaged over ten steps.

    Args:
        runs: A dict that maps a label for the fixes so far to the loss at each step.
        baseline: The loss of a model that predicts a constant, drawn as a horizontal line.
    """
    fig, axes = style.figure(6, 3.0)
    tones = (style.RED, style.ORANGE, style.PURPLE, style.GREEN)
    said = []
    for (name, losses), tone in zip(runs.items(), tones, strict=False):
        steps = np.arange(len(losses))
        means = np.reshape(losses[: len(losses) // 10 * 10], (-1, 10)).mean(1)
        axes.plot(10 * np.arange(len(means)) + 5, means, color=tone, label=name)
        bad = steps[~np.isfinite(np.asarray(losses))]
        if len(bad):
            last = means[np.isfinite(means)]
            axes.plot([10 * len(last) - 5, bad[0]], [last[-1]] * 2, color=tone)
            axes.plot(
                [bad[0]], [last[-1]], marker="x", color=tone, markersize=9, markeredgewidth=2.5
            )
            said.append(f"{name}: {last[-1]:.2g}, then NaN from step {bad[0]}")
        else:
            said.append(f"{name}: ends at {means[-1]:.2g}")
    look: dict[str, Any] = {"color": style.MUTED, "linewidth": 1.2, "linestyle": "--"}
    axes.axhline(baseline, label="the mean for everyone", **look)
    axes.set_yscale("log")
    axes.set_xlabel("step (× marks the first NaN)")
    axes.set_ylabel("mean loss of ten steps")
    axes.set_title("The loss after each fix")
    axes.legend(fontsize=10, loc="lower left")
    return (
        fig,
        f"Losses on a logarithmic axis. {'; '.join(said)}. The mean for everyone: {baseline:.2g}.",
    )
