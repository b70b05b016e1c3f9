"""Figures for chapter 11: how optimizers change dtypes, and the effects of narrow dtypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbits.book.experiments.optimizer_survey import DtypeCombination, UpdateOutcome
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GROUNDS = {
    "stable": style.FILL,
    "updates": style.PALE_BLUE,
    "weak": style.PALE_PURPLE,
    "state": style.PALE_ORANGE,
    "raises": style.PALE_RED,
}
_WORDS = {
    "stable": "nothing changes",
    "updates": "updates have another dtype",
    "weak": "weak types become strong",
    "state": "the state changes (its memory)",
    "raises": "TypeError",
}
_SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


def _said(outcome: UpdateOutcome) -> str:
    if outcome.verdict == "raises":
        return "error"
    if outcome.verdict == "state":
        return f"× {outcome.growth:.3g}" if abs(outcome.growth - 1) >= 0.005 else "yes"
    return {"stable": "", "updates": "upd.", "weak": "weak"}[outcome.verdict]


@style.drawing
def survey_table(
    found: Mapping[str, Mapping[DtypeCombination, UpdateOutcome]], title: str, group: str = ""
) -> tuple[Figure, str]:
    """Draw a table of the outcomes of an optimizer survey, with one row per optimizer.

    Args:
        found: The result of `jaxbits.book.experiments.optimizer_survey.survey`.
        title: The title of the figure.
        group: A prefix. The table shows only the optimizers whose names start with this prefix, and
            omits the prefix.
    """
    from matplotlib.patches import Patch, Rectangle

    rows = {name.removeprefix(group): row for name, row in found.items() if name.startswith(group)}
    columns = list(next(iter(rows.values())))
    high = 0.62
    fig, axes = style.figure(6, 0.205 * len(rows) + 1.75)
    style.blank(axes)
    axes.set_title(title)
    left, width = 7.2, 2.0
    for at, label in enumerate(("params", "gradient", "value")):
        axes.text(left - 0.3, 2.45 - 0.75 * at, label, ha="right", va="center", fontsize=10,
                  color=style.MUTED)  # fmt: skip
        for column, types in enumerate(columns):
            axes.text(left + width * (column + 0.5), 2.45 - 0.75 * at, _SHORT[types[at]],
                      ha="center", va="center", fontsize=10)  # fmt: skip
    for row, (name, outcomes) in enumerate(rows.items()):
        y = -row * 0.78
        short = name.replace("optimistic_gradient_descent", "optimistic_gradient_d.")
        axes.text(0, y, short, va="center", fontsize=10)
        for column, outcome in enumerate(outcomes.values()):
            corner = (left + width * column + 0.05, y - high / 2)
            ground = _GROUNDS[outcome.verdict]
            axes.add_patch(Rectangle(corner, width - 0.1, high, facecolor=ground, edgecolor="none"))
            place = left + width * (column + 0.5)
            axes.text(place, y - 0.02, _said(outcome), ha="center", va="center", fontsize=9)
    axes.set_xlim(-0.05, left + width * len(columns) + 0.05)
    axes.set_ylim(-0.78 * len(rows) + 0.3, 3.0)
    seen = [o.verdict for row in rows.values() for o in row.values()]
    shown = [v for v in _GROUNDS if v in seen]
    handles = [Patch(facecolor=_GROUNDS[v], edgecolor=style.LINE, label=_WORDS[v]) for v in shown]
    fig.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=10)
    return fig, f"{title}. " + " ".join(_column_in_words(rows, types) for types in columns)


def _column_in_words(
    rows: Mapping[str, Mapping[DtypeCombination, UpdateOutcome]], types: DtypeCombination
) -> str:
    verdicts = [row[types].verdict for row in rows.values()]
    counts = [f"{verdicts.count(v)} {_WORDS[v]}" for v in _GROUNDS if v in verdicts]
    return f"With {', '.join(types)} for params, gradient, value: {'; '.join(counts)}."


@style.drawing
def step_sizes(sizes: Mapping[str, Sequence[float]]) -> tuple[Figure, str]:
    """Plot Adam's step sizes for a constant gradient, as multiples of the learning rate.

    Args:
        sizes: A dict that maps the label of each line to the step sizes.
    """
    fig, axes = style.figure(6, 3.6)
    axes.set_title("Adam's steps for a gradient that never changes")
    axes.grid(False, axis="x")
    said = []
    tones = (style.RED, style.ORANGE, style.BLUE)
    for (name, series), tone in zip(sizes.items(), tones, strict=False):
        values = np.asarray(series, float)
        turns = np.arange(1, len(values) + 1)
        axes.plot(turns, values, color=tone)
        below = values[-1] < 1.2  # Keep the label away from the line above.
        axes.text(len(values), values[-1] * (0.86 if below else 1.12), name, ha="right",
                  va="top" if below else "bottom", color=tone)  # fmt: skip
        said.append(f"{name}: from {values[0]:.3g} to {values[-1]:.3g}")
    axes.set_yscale("log")
    top = max(float(np.max(series)) for series in sizes.values())
    axes.set_ylim(0.5, top * 2.2)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50) if tick < top * 2]
    axes.set_yticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("step")
    axes.set_ylabel("length (learning rates)")
    return fig, "Length of Adam's steps in learning rates. " + "; ".join(said) + "."


@style.drawing
def loss_curves(losses: Mapping[str, Any], steps: int) -> tuple[Figure, str]:
    """Plot the losses of training runs on a logarithmic scale.

    Args:
        losses: A dict that maps the label of each line to the loss at each step.
        steps: The number of training steps.
    """
    fig, axes = style.figure(6, 3.3)
    axes.set_title("One training, two ways to keep the weights")
    axes.grid(False, axis="x")
    said = []
    for (name, series), tone in zip(losses.items(), (style.RED, style.BLUE), strict=False):
        values = np.asarray(series, float)
        axes.plot(np.arange(len(values)), values, color=tone)
        # Place the label above the highest point of the line below it.
        clear = values[len(values) * 2 // 5 :].max() * 1.6
        axes.text(steps, clear, name, ha="right", va="bottom", color=tone)
        said.append(f"{name}: {values[0]:.2g} at first, {values[-1]:.2g} at last")
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    return fig, "Loss over the steps. " + "; ".join(said) + "."
