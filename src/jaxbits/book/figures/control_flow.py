"""Figures for chapter 07: supported transformations, gradients, residuals, vmap, and loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxbits.book import measurements
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Outcome = str | tuple[int, int]
"""The name of an error, or how many times the code runs and how many times it needs to run."""

SHORT = {
    "TracerBoolConversionError": "no bool",
    "TracerIntegerConversionError": "no int",
    "ValueError": "no reverse",
}
"""A short label for each error in the table."""


def _cell(outcome: Outcome) -> tuple[str, str, str, str]:
    """Return the text, text color, background color, and description of a cell."""
    if isinstance(outcome, str):
        return f"×\n{SHORT.get(outcome, outcome)}", style.RED, style.PALE_RED, "raises " + outcome
    runs, needed = outcome
    if runs > needed:
        said = f"works, with {runs} runs although {needed} would be enough"
        return f"✓ {runs} runs\n{needed} needed", style.ORANGE, style.PALE_ORANGE, said
    return "✓", style.GREEN, style.PALE_GREEN, "works"


@style.drawing
def transformation_support(table: Mapping[str, Mapping[str, Outcome]]) -> tuple[Figure, str]:
    """Draw a table that shows under which transformations each control-flow construct works.

    Args:
        table: For each construct, the outcome under each transformation.
    """
    from matplotlib.patches import Rectangle

    columns = list(next(iter(table.values())))
    fig, axes = style.figure(6, 0.52 * len(table) + 0.5)
    style.blank(axes)
    said = []
    for column, way in enumerate(columns):
        axes.text(column + 0.5, 0.4, way, ha="center", va="center", fontsize=10, fontweight="bold")
    for row, (name, outcomes) in enumerate(table.items(), 1):
        axes.text(-0.1, row + 0.5, name, ha="right", va="center", fontsize=10.5)
        for column, outcome in enumerate(outcomes.values()):
            text, color, ground, words = _cell(outcome)
            box = Rectangle((column, row), 1, 1, facecolor=ground, edgecolor=style.PAPER)
            axes.add_patch(box)
            axes.text(
                column + 0.5, row + 0.5, text, ha="center", va="center", color=color, fontsize=10.5
            )
            said.append(f"{name} under {columns[column]} {words}")
    axes.set_xlim(-1.3, len(columns))
    axes.set_ylim(len(table) + 1, 0)
    axes.set_title("Which constructs work under which transformation")
    return fig, "A table of control flow and transformations: " + "; ".join(said) + "."


@style.drawing
def ascent_curves(heights: Mapping[str, Sequence[float]]) -> tuple[Figure, str]:
    """Plot how the signal-to-noise ratio changes as gradient ascent follows each of two gradients.

    Args:
        heights: A dict that maps the name of each gradient to the ratio after each step.
    """
    fig, axes = style.figure(6, 3.2)
    said = []
    for (name, values), color in zip(heights.items(), (style.BLUE, style.RED), strict=False):
        axes.plot(range(len(values)), values, color=color)
        axes.annotate(
            name,
            (len(values) - 1, values[-1]),
            xytext=(0, -9),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=10,
            color=color,
        )
        said.append(f"{name} goes from {values[0]:.2f} to {values[-1]:.2f}")
    top = max(max(values) for values in heights.values())
    axes.set_ylim(0, 1.15 * top)
    axes.set_xlabel("steps of gradient ascent")
    axes.set_ylabel("signal-to-noise ratio")
    axes.set_title("Following each gradient uphill")
    return fig, f"Two lines over {len(values) - 1} steps of ascent: " + "; ".join(said) + "."


@style.drawing
def saved_residuals(plain: int, checkpointed: int, length: int) -> tuple[Figure, str]:
    """Draw the values that the forward pass of three loops saves for the backward pass.

    Args:
        plain: The number of values that each iteration of a scan saves.
        checkpointed: The number of values that it saves with `jax.checkpoint` around its body.
        length: The number of iterations of the scan.
    """
    from matplotlib.patches import Rectangle

    rows = (
        ("scan", plain, f"{plain} × {length}", style.BLUE, style.PALE_BLUE),
        (
            "scan, checkpoint",
            checkpointed,
            f"{checkpointed} × {length}",
            style.GREEN,
            style.PALE_GREEN,
        ),
        ("while_loop", plain, f"{plain} × ?", style.RED, style.PALE_RED),
    )
    columns = ["1", "2", "3", "…", str(length)]
    fig, axes = style.figure(6, 2.9)
    style.blank(axes)
    for column, label in enumerate(columns):
        axes.text(column + 0.5, -0.25, label, ha="center", va="center", fontsize=10)
    axes.text(-0.15, -0.25, "iteration", ha="right", va="center", fontsize=10)
    axes.text(len(columns) + 0.6, -0.25, "saved", ha="center", va="center", fontsize=10)
    for row, (name, saved, total, color, ground) in enumerate(rows):
        axes.text(-0.15, row + 0.5, name, ha="right", va="center", fontsize=10.5)
        axes.text(
            len(columns) + 0.6,
            row + 0.5,
            total,
            ha="center",
            va="center",
            fontsize=10.5,
            color=color,
        )
        for column, label in enumerate(columns):
            unknown = name == "while_loop" and column > 2
            if label == "…" or unknown:
                text = "?" if unknown else "…"
                axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=color)
                continue
            for one in range(saved):
                corner = (column + 0.12, row + 0.14 + one * 0.25)
                axes.add_patch(Rectangle(corner, 0.76, 0.2, facecolor=ground, edgecolor=color))
    axes.set_xlim(-1.9, len(columns) + 1.1)
    axes.set_ylim(len(rows) + 0.1, -0.6)
    axes.set_title("Values that the forward pass saves for the backward pass")
    return fig, (
        f"Three loops. A scan of {length} iterations saves {plain} values in each iteration. With "
        f"jax.checkpoint around its body, it saves {checkpointed}. A while_loop would save "
        f"{plain} values in each of an unknown number of iterations."
    )


@style.drawing
def wasted_vmap_iterations(needed: Sequence[int], together: int) -> tuple[Figure, str]:
    """Plot the iterations that each lane of a batched loop needed and those that it wasted.

    Args:
        needed: The number of iterations that each lane needed.
        together: The number of iterations that every lane ran under `vmap`.
    """
    fig, axes = style.figure(6, 3.2)
    lanes = range(1, len(needed) + 1)
    wasted = [together - iterations for iterations in needed]
    axes.bar(lanes, needed, color=style.BLUE, width=0.8)
    axes.bar(lanes, wasted, bottom=needed, color=style.PALE_ORANGE, edgecolor=style.ORANGE,
             linewidth=0.8, width=0.8)  # fmt: skip
    axes.set_xticks([1, *range(4, len(needed) + 1, 4)])
    axes.set_xlabel("lane of the batch")
    axes.set_ylabel("iterations")
    axes.set_ylim(0, 1.22 * together)
    axes.grid(axis="x", visible=False)
    axes.set_title("Every lane runs for as long as the slowest one")
    for x, text, color in ((0.02, "needed", style.BLUE), (0.26, "computed and discarded", None)):
        axes.text(
            x,
            0.94,
            text,
            transform=axes.transAxes,
            color=color or style.ORANGE,
            fontsize=10,
            va="center",
        )
    total = together * len(needed)
    return fig, (
        f"Bars for {len(needed)} lanes. Each lane runs {together} iterations. The lanes needed "
        f"{', '.join(map(str, needed))}, which is {sum(needed)} of {total} iterations."
    )


def _lines(axes: Axes, x: Sequence[int], series: Mapping[str, Sequence[float]]) -> None:
    for (name, values), color in zip(series.items(), (style.ORANGE, style.BLUE), strict=True):
        axes.plot(x, values, color=color, marker="o", markersize=5)
        axes.annotate(
            name,
            (x[-1], values[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=10,
            color=color,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(x[0] / 1.2, x[-1] * 4)


def _counted(series: Mapping[str, Any], what: str) -> dict[str, list[float]]:
    return {kind: series[f"{kind}, {what}"] for kind in ("unrolled", "fori_loop")}


@style.drawing
def loop_costs() -> tuple[Figure, str]:
    """Plot the recorded equation counts and compile times of an unrolled loop and a `fori_loop`."""
    from matplotlib.figure import Figure

    run = measurements.load("unrolled_loop")
    series = run["series"]
    traced, compiled = _counted(series, "trace ms"), _counted(series, "compile ms")
    building = {
        kind: [a + b for a, b in zip(traced[kind], compiled[kind], strict=True)] for kind in traced
    }
    fig = Figure(figsize=(6, 4.6), layout="constrained")
    above, below = fig.subplots(2, 1, sharex=True)
    equations = _counted(series, "operations")
    _lines(above, series["n"], equations)
    above.set_ylabel("equations")
    above.set_title("n iterations of x = sin(x) + i under jit")
    _lines(below, series["n"], building)
    below.set_ylabel("trace + compile, ms")
    below.set_xlabel(f"number of iterations, n\n{measurements.machine(run)}", fontsize=10)
    below.set_xticks(series["n"], [str(n) for n in series["n"]])
    below.minorticks_off()
    below.set_yticks([30, 100, 300, 1000], ["30", "100", "300", "1000"])
    said = [
        f"{kind}: {equations[kind][0]} to {equations[kind][-1]} equations, "
        f"{building[kind][0]:.0f} to {building[kind][-1]:.0f} ms"
        for kind in building
    ]
    return fig, (
        f"Two panels on logarithmic axes for {series['n'][0]} to {series['n'][-1]} iterations. "
        + "; ".join(said)
        + "."
    )
