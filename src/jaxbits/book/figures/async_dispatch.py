"""Figures for chapter 12: dispatch, completion, and when settings take effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxbits.book import measurements
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.drawing
def async_timeline() -> tuple[Figure, str]:
    """Plot when each of five recorded calls returned and when its result was ready."""
    run = measurements.load("async_dispatch")
    marks = run["series"]["queued"]
    steps = len(marks["called"])
    fig, axes = style.figure(6, 3.6)
    begins = marks["called"][:1] + marks["done"][:-1]
    end = marks["done"][-1]
    for row, (begin, done) in enumerate(zip(begins, marks["done"], strict=True)):
        called, returned = marks["called"][row], marks["returned"][row]
        axes.barh(
            -row,
            begin - returned,
            left=returned,
            color=style.PALE_BLUE,
            edgecolor=style.BLUE,
            linewidth=0.8,
            height=0.5,
        )
        axes.barh(-row, done - begin, left=begin, color=style.ORANGE, height=0.5)
        axes.barh(-row, max(returned - called, end / 150), left=called, color=style.BLUE)
    axes.barh(0, 0, color=style.BLUE, label="Python makes the call")
    axes.barh(
        0,
        0,
        color=style.PALE_BLUE,
        edgecolor=style.BLUE,
        linewidth=0.8,
        label="step is queued",
    )
    axes.barh(0, 0, color=style.ORANGE, label="device computes")
    last = marks["returned"][-1]
    axes.axvline(last, color=style.RED, linewidth=1.2, linestyle="--")
    axes.annotate(
        f"all five calls return within {last:.2g} ms",
        (last, -steps + 0.45),
        (last + end / 40, -steps + 0.2),
        color=style.RED,
        fontsize=10,
    )
    axes.set_yticks([-row for row in range(steps)], [f"step {row + 1}" for row in range(steps)])
    axes.set_ylim(-steps - 0.1, 0.6)
    axes.set_xlim(0, end * 1.02)
    axes.set_xlabel(f"time since the first call, ms\n{measurements.machine(run)}", fontsize=10)
    axes.grid(axis="y", visible=False)
    axes.set_title("Five steps, each of which uses the previous result")
    fig.legend(loc="outside lower center", ncols=3, fontsize=10)
    return fig, (
        f"Bars over time. All five calls return within {last:.2g} ms. The device computes the "
        "steps one after another and finishes them after "
        + ", ".join(f"{done:.0f}" for done in marks["done"])
        + " ms."
    )


def _lanes(axes: Axes, marks: Mapping[str, Sequence[float]], top: float, read: bool) -> None:
    free = 0.0
    for k, done in enumerate(marks["done"]):
        begin = max(marks["called"][k], free)
        axes.barh(top, marks["called"][k] - marks["loaded"][k], left=marks["loaded"][k],
                  color=style.PURPLE, height=0.62)  # fmt: skip
        if read:
            axes.barh(top, marks["read"][k] - marks["returned"][k], left=marks["returned"][k],
                      color=style.PALE_RED, edgecolor=style.RED, linewidth=0.8,
                      height=0.62)  # fmt: skip
        axes.barh(top - 0.85, done - begin, left=begin, color=style.ORANGE, height=0.62)
        axes.plot([begin, begin], [top - 1.16, top - 0.54], color=style.PAPER, linewidth=1.5)
        free = done


@style.drawing
def cost_of_reading() -> tuple[Figure, str]:
    """Plot the recorded timelines of a loop that reads no losses and of one that reads them all."""
    run = measurements.load("async_dispatch")
    fig, axes = style.figure(6, 3.9)
    said, ticks = [], []
    for top, name, read in ((0.0, "nothing read", False), (-2.4, "every loss read", True)):
        marks = run["series"][name]
        _lanes(axes, marks, top, read)
        end = max(*marks["done"], *marks["read"])
        title = {False: "No loss is read", True: "Every loss is read"}[read]
        axes.text(0, top + 0.5, f"{title}: {end:.0f} ms", fontsize=10, fontweight="bold")
        said.append(f"{title}: {end:.0f} ms")
        ticks += [(top, "Python"), (top - 0.85, "device")]
    for tone, edge, label in (
        (style.PURPLE, style.PURPLE, "Python loads a batch"),
        (style.PALE_RED, style.RED, "Python waits"),
        (style.ORANGE, style.ORANGE, "device computes"),
    ):
        axes.barh(0, 0, color=tone, edgecolor=edge, linewidth=0.8, label=label)
    axes.set_yticks([y for y, _ in ticks], [label for _, label in ticks])
    axes.set_ylim(-3.8, 1.1)
    axes.set_xlabel(f"time, ms\n{measurements.machine(run)}", fontsize=10)
    axes.grid(axis="y", visible=False)
    axes.set_title("Five training steps with and without reading the loss")
    fig.legend(loc="outside lower center", ncols=3, fontsize=10)
    return fig, (
        "Two timelines of Python and the device. If the loop reads no loss, Python loads the next "
        "batch while the device computes. If it reads every loss, the two take turns. "
        + ". ".join(said)
        + "."
    )


@style.drawing
def small_array_times() -> tuple[Figure, str]:
    """Plot the recorded times of ``x * 2 + 1`` against the size of x, in NumPy and in JAX."""
    run = measurements.load("async_dispatch")
    series = run["series"]["small"]
    fig, axes = style.figure(6, 4.2)
    kinds = {
        "NumPy": (style.PURPLE, "D"),
        "NumPy, memory reused": (style.GREEN, "^"),
        "JAX, eager": (style.ORANGE, "o"),
        "JAX, jitted": (style.BLUE, "s"),
    }
    said = []
    for kind, (tone, marker) in kinds.items():
        axes.plot(series["floats"], series[kind], color=tone, marker=marker, label=kind)
        said.append(f"{kind} " + ", ".join(f"{t:.3g}" for t in series[kind]) + " µs")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(series["floats"], [f"{n:,.0f}" for n in series["floats"]])
    axes.set_yticks([10.0**p for p in range(5)], ["1 µs", "10 µs", "0.1 ms", "1 ms", "10 ms"])
    axes.minorticks_off()
    axes.tick_params(axis="x", labelrotation=20)
    axes.set_xlabel(f"number of floats in x\n{measurements.machine(run)}", fontsize=10)
    axes.set_ylabel("time until the result is ready")
    axes.set_title("How long x * 2 + 1 takes")
    axes.legend(loc="upper left", fontsize=10)
    sizes = ", ".join(f"{n:,.0f}" for n in series["floats"])
    return fig, f"Lines on logarithmic axes for {sizes} floats. " + ". ".join(said) + "."


@style.drawing
def config_timing(outcomes: Mapping[str, Sequence[str]]) -> tuple[Figure, str]:
    """Draw a table that shows whether JAX obeys, ignores, or refuses a setting at each moment.

    Args:
        outcomes: The result of `jaxbits.book.experiments.config_timing.config_timing_table`.
    """
    from matplotlib.patches import FancyBboxPatch

    effects: dict[str, tuple[str, Any, Any]] = {
        "obeyed": ("takes effect", style.GREEN, style.PALE_GREEN),
        "ignored": ("has no effect", style.RED, style.PALE_RED),
        "refused": ("raises an error", style.ORANGE, style.PALE_ORANGE),
    }
    moments = ("before\nimport jax", "before the\nfirst array", "after the\nfirst array")
    fig, axes = style.figure(6, 0.78 * len(outcomes) + 1.3)
    style.blank(axes)
    for column, moment in enumerate(moments):
        axes.text(0.95 + 2.3 * column, 1.05, moment, ha="center", va="center", fontsize=10)
    said = []
    for row, (line, found) in enumerate(outcomes.items()):
        y = -1.35 * row
        axes.text(0, y + 0.12, line, fontsize=10, family="DejaVu Sans Mono", va="center")
        for column, word in enumerate(found):
            if not word:
                continue
            effect, edge, pale = effects[word]
            box = FancyBboxPatch(
                (0.1 + 2.3 * column, y - 0.75),
                1.7,
                0.5,
                boxstyle="round,pad=0,rounding_size=0.1",
                facecolor=pale,
                edgecolor=edge,
                linewidth=1.4,
            )
            axes.add_patch(box)
            axes.text(0.95 + 2.3 * column, y - 0.5, effect, ha="center", va="center", fontsize=10)
        words = [effects[word][0] if word else "not possible" for word in found]
        said.append(f"{line}: {', '.join(words)}")
    axes.set_xlim(-0.1, 6.7)
    axes.set_ylim(-1.35 * len(outcomes) + 0.4, 2.1)
    axes.text(0, 1.8, "Whether a change takes effect", fontsize=12, fontweight="bold", va="center")
    return fig, (
        "A table that shows whether changing each setting takes effect before import jax, before "
        "the first array, and after the first array. " + ". ".join(said) + "."
    )
