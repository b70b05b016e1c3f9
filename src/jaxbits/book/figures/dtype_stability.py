"""Figures for chapter 11: how optimizers change dtypes, and the effects of narrow dtypes."""

from __future__ import annotations

import textwrap
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
    "updates": "only the updates' dtype changes",
    "weak": "weak types become strong",
    "state": "the state changes its dtype",
    "raises": "JAX raises a TypeError",
}
_SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


def _outcome_text(outcome: UpdateOutcome) -> str:
    if outcome.verdict == "raises":
        return "error"
    if outcome.verdict == "state":
        return f"×{round(outcome.growth, 2):g}"
    return {"stable": "", "updates": "upd.", "weak": "weak"}[outcome.verdict]


def _cell_text(outcome: UpdateOutcome) -> str:
    traces = str(outcome.traces) if outcome.traces else "–"
    return f"{_outcome_text(outcome)}\n{traces}".strip()


@style.drawing
def survey_table(
    found: Mapping[str, Mapping[DtypeCombination, UpdateOutcome]], title: str
) -> tuple[Figure, str]:
    """Draw a table of the outcomes of an optimizer survey, with one row per pattern of outcomes.

    Args:
        found: The result of `jaxbits.book.experiments.optimizer_survey.survey`. Optimizers with
            equal outcomes share a row.
        title: The title of the figure.
    """
    from matplotlib.patches import Patch, Rectangle

    columns = list(next(iter(found.values())))
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, outcomes in found.items():
        groups.setdefault(tuple(_cell_text(o) for o in outcomes.values()), []).append(name)
    # The largest group comes first, and groups of one optimizer come last.
    rows = sorted(groups.values(), key=lambda names: (-len(names), names))
    texts = (", ".join(names).replace("gradient_descent", "gradient_ descent") for names in rows)
    labels = [textwrap.wrap(text, 25) for text in texts]
    heights = [max(2, len(lines)) * 0.42 + 0.3 for lines in labels]
    fig, axes = style.figure(6, 0.43 * sum(heights) + 2.0)
    style.blank(axes)
    axes.set_title(title)
    left, width = 7.3, 1.62
    for at, label in enumerate(("parameters", "gradient", "value")):
        y = 1.75 - 0.6 * at
        axes.text(left - 0.3, y, label, ha="right", va="center", fontsize=11, color=style.MUTED)
        for column, types in enumerate(columns):
            axes.text(left + width * (column + 0.5), y, _SHORT[types[at]],
                      ha="center", va="center", fontsize=11)  # fmt: skip
    top = 0.0
    for names, lines, height in zip(rows, labels, heights, strict=True):
        middle = top - height / 2
        axes.text(0, middle, "\n".join(lines), va="center", fontsize=10, linespacing=1.15)
        for column, outcome in enumerate(found[names[0]].values()):
            corner = (left + width * column + 0.05, top - height + 0.05)
            ground = _GROUNDS[outcome.verdict]
            axes.add_patch(
                Rectangle(corner, width - 0.1, height - 0.1, facecolor=ground, edgecolor="none")
            )
            axes.text(left + width * (column + 0.5), middle, _cell_text(outcome),
                      ha="center", va="center", fontsize=10)  # fmt: skip
        top -= height
    axes.text(0, top - 0.45, "×: change in the state's size. Last number: number of traces.",
              va="center", fontsize=10)  # fmt: skip
    axes.set_xlim(-0.05, left + width * len(columns) + 0.05)
    axes.set_ylim(top - 0.8, 2.2)
    seen = [o.verdict for row in found.values() for o in row.values()]
    shown = [v for v in _GROUNDS if v in seen]
    handles = [Patch(facecolor=_GROUNDS[v], edgecolor=style.LINE, label=_WORDS[v]) for v in shown]
    fig.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=10)
    return fig, f"{title}. " + " ".join(_column_in_words(found, types) for types in columns)


def _column_in_words(
    found: Mapping[str, Mapping[DtypeCombination, UpdateOutcome]], types: DtypeCombination
) -> str:
    outcomes = [row[types] for row in found.values()]
    verdicts = [outcome.verdict for outcome in outcomes]
    counts = [f"{_WORDS[v]} in {verdicts.count(v)}" for v in _GROUNDS if v in verdicts]
    twice = sum(outcome.traces > 1 for outcome in outcomes)
    return (
        f"With {', '.join(types)} for parameters, gradient, and value: {', '.join(counts)}. "
        f"Traced twice: {twice}."
    )


@style.drawing
def numbers_near_one(update: float) -> tuple[Figure, str]:
    """Draw the numbers near 1 that three formats can represent, and where an update would land.

    Args:
        update: The amount that is subtracted from 1, which must be less than 0.004.
    """
    fig, axes = style.figure(6, 2.7)
    axes.set_title(f"The numbers near 1, and an update of −{update:g}")
    axes.grid(False)
    low, high = 1 - 0.0058, 1 + 0.0022
    spacings = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-24}
    for row, below in enumerate(spacings.values()):
        y = -row
        axes.plot([low, high], [y, y], color=style.MUTED, linewidth=1)
        if below < 1e-5:
            axes.plot([low, high], [y, y], color=style.INK, linewidth=7, solid_capstyle="butt")
        else:
            # Above 1, the numbers are twice as far apart as below 1.
            below_one = 1 - below * np.arange(int((1 - low) / below) + 1)
            above_one = 1 + 2 * below * np.arange(1, int((high - 1) / (2 * below)) + 1)
            numbers = np.concatenate([below_one, above_one])
            axes.plot(numbers, np.full(len(numbers), y), "|", color=style.INK, markersize=15,
                      markeredgewidth=1.8)  # fmt: skip
        landed = 1.0 if update < below / 2 else 1 - round(update / below) * below
        axes.plot([landed], [y], "o", color=style.RED if landed == 1 else style.BLUE, markersize=8)
    axes.annotate("", xy=(1 - update, 0.55), xytext=(1, 0.55),
                  arrowprops={"arrowstyle": "->", "color": style.MUTED})  # fmt: skip
    axes.axvline(1 - update, color=style.MUTED, linewidth=1, linestyle=":", ymax=0.86)
    axes.text(1 - update, 0.62, f"1 − {update:g}", ha="right", va="bottom", color=style.MUTED)
    axes.set_yticks([0, -1, -2], list(spacings))
    axes.set_xticks([1 - 2.0**-8, 1 - update, 1], ["0.996", f"{1 - update:g}", "1"])
    axes.set_xlim(low, high)
    axes.set_ylim(-2.6, 1.15)
    axes.spines["left"].set_visible(False)
    axes.tick_params(left=False)
    words = (
        f"The numbers between {low:.4f} and {high:.4f} in three formats. In bfloat16, the largest "
        f"number below 1 is 0.996, so {1 - update:g} is rounded back to 1. In float16, it is "
        f"rounded to a number that is 0.00002 away. In float32, the numbers are so close that "
        "they form a solid bar."
    )
    return fig, words


@style.drawing
def step_sizes(sizes: Mapping[str, Sequence[float]]) -> tuple[Figure, str]:
    """Plot Adam's step sizes for a constant gradient, as multiples of the learning rate.

    Args:
        sizes: A dict that maps the label of each line to the step sizes.
    """
    fig, axes = style.figure(6, 3.6)
    axes.set_title("Adam's steps if the gradient never changes")
    axes.grid(False, axis="x")
    said: list[str] = []
    tones = (style.RED, style.ORANGE, style.BLUE)
    for (name, series), tone in zip(sizes.items(), tones, strict=False):
        values = np.asarray(series, float)
        axes.plot(np.arange(1, len(values) + 1), values, color=tone)
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
    return fig, "The length of Adam's steps as a multiple of the learning rate. " + "; ".join(
        said
    ) + "."


@style.drawing
def loss_curves(losses: Mapping[str, Any], steps: int) -> tuple[Figure, str]:
    """Plot the losses of up to three training runs on a logarithmic scale.

    Args:
        losses: A dict that maps the label of each line to the loss at each step. The last line
            must be the lowest.
        steps: The number of training steps.
    """
    fig, axes = style.figure(6, 3.3)
    axes.set_title("The loss for three ways to store the weights")
    axes.grid(False, axis="x")
    said: list[str] = []
    tones = (style.RED, style.ORANGE, style.BLUE) if len(losses) > 2 else (style.RED, style.BLUE)
    for (name, series), tone in zip(losses.items(), tones, strict=False):
        values = np.asarray(series, float)
        axes.plot(np.arange(len(values)), values, color=tone)
        if len(said) < len(losses) - 1:
            # Place the label above the highest point of the line below it.
            clear = values[len(values) * 2 // 5 :].max() * 1.6
            axes.text(steps, clear, name, ha="right", va="bottom", color=tone)
        else:
            clear = values[len(values) * 2 // 5] / 3
            axes.text(0.4 * steps, clear, name, ha="right", va="top", color=tone)
        said.append(f"{name}: from {values[0]:.2g} to {values[-1]:.2g}")
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    return fig, "The loss over the training steps. " + "; ".join(said) + "."
