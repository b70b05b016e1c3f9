"""Figures for chapter 18: the dtypes of two programs, and the distance between training runs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbits.book import measurements
from jaxbits.book.experiments.jaxpr_diff import Intermediate, first_dtype_difference
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TONES = {"float32": style.BLUE, "float64": style.ORANGE}
_LINES: dict[str, dict[str, Any]] = {
    "another seed": {"linewidth": 1.2},
    "arrays": {"linewidth": 1.6},
    "one weight changed": {"linewidth": 1.6, "dashes": (3, 2)},
}
_ULP = 2.0**-23
_ARTICLE = 0.9997 - 0.998


@style.drawing
def dtypes_side_by_side(programs: Mapping[str, Sequence[Intermediate]]) -> tuple[Figure, str]:
    """Draw the dtypes of two programs' intermediates as stripes, with one row per program.

    Args:
        programs: A dict that maps the name of each program to its intermediates.
    """
    from matplotlib.patches import Patch, Rectangle

    (first, one), (second, other) = programs.items()
    fig, axes = style.figure(6, 2.9)
    style.blank(axes)
    axes.set_title("The dtypes in one training step")
    said = []
    for row, (name, program) in enumerate(programs.items()):
        y = 1.0 - 1.15 * row
        axes.text(0, y + 0.72, name, va="bottom", fontsize=10.5)
        at = 0
        for tone, parts in itertools.groupby(_TONES.get(p.dtype, style.LINE) for p in program):
            width = len(list(parts))
            axes.add_patch(Rectangle((at, y), width, 0.66, facecolor=tone, edgecolor="none"))
            at += width
        wide = sum(part.dtype == "float64" for part in program)
        said.append(f"With settings from {name}, {wide} of {len(program)} are float64")
    where = first_dtype_difference(one, other)
    if where is not None:
        axes.annotate(
            f"operation {where + 1} is the first that differs",
            (where + 0.5, -0.15),
            (16, -20),
            textcoords="offset points",
            va="center",
            fontsize=10,
            arrowprops={"arrowstyle": "-|>", "color": style.INK, "shrinkB": 0},
        )
        said.append(f"Operation {where + 1} is the first that differs between {first} and {second}")
    axes.set_xlim(-1, len(one) + 1)
    axes.set_ylim(-0.8, 2.0)
    handles = [Patch(facecolor=tone, label=dtype) for dtype, tone in _TONES.items()]
    handles.append(Patch(facecolor=style.LINE, label="not a float"))
    fig.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=10)
    return fig, f"The dtype that each operation of a training step returns. {'. '.join(said)}."


def _steps(axes: Axes, run: Mapping[str, Any]) -> list[int]:
    steps: list[int] = run["series"]["steps"]
    axes.set_xlim(0, steps[-1] * 1.02)
    axes.set_yscale("log")
    axes.minorticks_off()
    return steps


def _ulp_line(axes: Axes) -> None:
    axes.axhline(_ULP, color=style.INK, linewidth=1, linestyle=":")


@style.drawing
def weight_trajectories() -> tuple[Figure, str]:
    """Plot the recorded losses for settings from lists and from arrays, and their differences."""
    from matplotlib.figure import Figure
    from matplotlib.patheffects import withStroke

    run = measurements.load("list_or_array")
    series = run["series"]
    fig = Figure(figsize=(6, 4.6), layout="constrained")
    upper, lower = fig.subplots(2, 1)
    steps = _steps(upper, run)
    lists, arrays = (np.asarray(series["losses"][name]) for name in ("lists", "arrays"))
    # The pale line needs an edge to be visible on the background.
    edge = [withStroke(linewidth=8.5, foreground=style.ORANGE)]
    upper.plot(steps, arrays, color=style.PALE_ORANGE, linewidth=6, label="from arrays",
               path_effects=edge)  # fmt: skip
    upper.plot(steps, lists, color=style.BLUE, linewidth=1.5, label="from lists")
    upper.legend(loc="upper right")
    upper.set_title("The losses for one seed, with x64 on")
    upper.set_ylabel("loss")
    _steps(lower, run)
    off = np.asarray(series["loss difference"])
    lower.plot(steps, off, color=style.RED, linewidth=1.5)
    _ulp_line(lower)
    lower.set_ylim(1e-10, 1e-4)
    lower.text(300, _ULP / 3, "one unit in the last place", ha="right", va="top", fontsize=10)
    lower.set_title("How much the losses differ")
    lower.set_xlabel("step")
    lower.set_ylabel("relative difference")
    alt = (
        f"Above, the losses with settings from lists and from arrays over {steps[-1]} steps. "
        f"Both curves fall from {lists[0]:.2g} to {lists[-1]:.2g} and coincide. Below, their "
        f"relative difference, which lies between {off.min():.0e} and {off.max():.0e}. A "
        f"dotted line marks one unit in the last place of float32, {_ULP:.0e}."
    )
    return fig, alt


@style.drawing
def weight_distances() -> tuple[Figure, str]:
    """Plot the recorded distances between runs' weights, for all seeds and two learning rates."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    run = measurements.load("list_or_array")
    tones = {
        "another seed": style.MUTED,
        "arrays": style.ORANGE,
        "one weight changed": style.BLUE,
    }
    words = {
        "another seed": "another seed",
        "one weight changed": "last digit of one weight",
        "arrays": "arrays instead of lists",
    }
    fig = Figure(figsize=(6, 5.0), layout="constrained")
    said = []
    for axes, name in zip(fig.subplots(2, 1), ("calm", "restless"), strict=True):
        steps = _steps(axes, run)
        rate = f"learning rate {run['series']['rates'][name]}"
        for kind, tone in tones.items():
            for line in run["series"][name][kind]:
                axes.plot(steps, line, color=tone, **_LINES[kind])
            ends = [line[-1] for line in run["series"][name][kind]]
            said.append(f"{words[kind]}, {rate}: {min(ends):.1e} to {max(ends):.1e}")
        _ulp_line(axes)
        axes.set_ylim(2e-9, 10)
        axes.set_title(rate.capitalize())
        axes.set_ylabel("distance of the weights")
    axes.set_xlabel("step")
    handles: list[Any] = [
        Line2D([], [], color=tone, label=words[k], **_LINES[k]) for k, tone in tones.items()
    ]
    handles.append(
        Line2D([], [], color=style.INK, linewidth=1, ls=":", label="one unit in the last place")
    )
    fig.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=10)
    return fig, (
        "The relative distance between the weights of two training runs after each step, for five "
        f"seeds. After the last step, the distances are as follows: {'; '.join(said)}."
    )


@style.drawing
def score_changes() -> tuple[Figure, str]:
    """Plot how far each change moved the recorded scores, and the gap that the article reports."""
    run = measurements.load("list_or_array")
    rows: dict[str, list[float]] = {}
    for name in ("restless", "calm"):
        scores = {k: np.asarray(v) for k, v in run["series"]["scores"][name].items()}
        rate = f"rate {run['series']['rates'][name]}"
        rows[f"arrays, {rate}"] = list(np.abs(scores["arrays"] - scores["lists"]))
        rows[f"last digit, {rate}"] = list(np.abs(scores["one weight changed"] - scores["lists"]))
        rows[f"other seed, {rate}"] = list(np.abs(np.diff(scores["lists"])))
    fig, axes = style.figure(6, 3.5)
    axes.grid(False, axis="y")
    for row, (name, values) in enumerate(rows.items()):
        tone = {"a": style.ORANGE, "l": style.BLUE, "o": style.MUTED}[name[0]]
        axes.plot(values, [row] * len(values), "o", color=tone, markersize=7, alpha=0.75)
    axes.axvline(_ARTICLE, color=style.RED, linewidth=1.5)
    axes.text(_ARTICLE * 1.3, 5.55, "the article", color=style.RED, fontsize=10, va="center")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(-0.6, 5.9)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xlabel("change in R²")
    axes.set_title("How far each change moves the score", loc="left")
    told = "; ".join(f"{n}: {min(v):.0e} to {max(v):.0e}" for n, v in rows.items())
    return fig, f"Changes in R² for five seeds. {told}. The article reports {_ARTICLE:.1e}."
