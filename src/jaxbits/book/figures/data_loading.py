"""Figures for chapter 17: workers that hang, their random numbers, and the cost of loading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxbits.book import measurements
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.drawing
def forked_worker_outcomes() -> tuple[Figure, str]:
    """Plot the recorded times of two workers, forked or spawned, that run NumPy or JAX."""
    run = measurements.load("forked_workers")
    limit = run["series"]["limit"]
    fig, axes = style.figure(6, 3.9)
    said, labels = [], []
    for row, (recorded, spread) in enumerate(run["results"].items()):
        name = recorded.replace("the same, nine numbers", "nine numbers, JAX compiled before")
        labels.append(name.replace(", ", ",\n"))
        hung = "no answer" in run["series"][recorded]["outcomes"]
        seconds = spread["median"]
        tone, edge = (style.PALE_RED, style.RED) if hung else (style.BLUE, style.BLUE)
        axes.barh(
            -row, seconds, color=tone, edgecolor=edge, height=0.55, hatch="//" if hung else None
        )
        words = f"no answer, stopped after {limit} s" if hung else f"{seconds:.1f} s"
        if hung:
            box = {"facecolor": style.PAPER, "edgecolor": "none"}
            axes.text(seconds / 2, -row, words, ha="center", va="center", color=style.RED,
                      fontsize=10, bbox=box)  # fmt: skip
        else:
            axes.text(seconds + limit / 60, -row, words, va="center", fontsize=10)
        said.append(f"{name}: {words}")
    axes.set_yticks([-row for row in range(len(labels))], labels)
    axes.set_xlim(0, 1.1 * max(limit, *(spread["median"] for spread in run["results"].values())))
    axes.set_xlabel(
        f"seconds until all 64 samples arrived\n{measurements.machine(run)}", fontsize=10
    )
    axes.grid(axis="y", visible=False)
    axes.set_title("Two workers that start after JAX")
    return fig, "Bar chart of the time until all 64 samples arrived. " + "; ".join(said) + "."


@style.drawing
def augmentation_draws(epochs: Mapping[str, Sequence[Sequence[int]]]) -> tuple[Figure, str]:
    """Draw a table of random numbers with one row per epoch and equal numbers in the same color.

    Args:
        epochs: For each way of loading, the numbers from 0 to 99 that were drawn in each epoch.
    """
    from matplotlib.patches import Rectangle

    tones = (
        (style.PALE_BLUE, style.BLUE),
        (style.PALE_ORANGE, style.ORANGE),
        (style.PALE_GREEN, style.GREEN),
        (style.PALE_PURPLE, style.PURPLE),
    )
    rows = sum(len(numbers) for numbers in epochs.values())
    fig, axes = style.figure(6, 0.5 * rows + 0.55 * len(epochs) + 0.4)
    style.blank(axes)
    y, said, widest = 0.0, [], 0
    for name, numbers in epochs.items():
        counts: dict[int, int] = {}
        for number in (n for epoch in numbers for n in epoch):
            counts[number] = counts.get(number, 0) + 1
        often = [number for number, times in counts.items() if times > 2]
        tone_of = {number: tones[k % len(tones)] for k, number in enumerate(often)}
        axes.text(0, y - 0.1, f"{name}: {len(counts)} distinct numbers", va="center",
                  fontsize=11, fontweight="bold")  # fmt: skip
        y -= 1.0
        for k, epoch in enumerate(numbers):
            axes.text(0, y, f"epoch {k}", fontsize=10, va="center", color=style.MUTED)
            for column, number in enumerate(epoch):
                pale, edge = tone_of.get(number, (style.FILL, style.LINE))
                x = 2.0 + 1.25 * column
                axes.add_patch(
                    Rectangle((x, y - 0.38), 1.1, 0.76, facecolor=pale, edgecolor=edge, lw=1.2)
                )
                axes.text(x + 0.55, y, str(number), ha="center", va="center", fontsize=10)
            widest = max(widest, len(epoch))
            y -= 1.0
        y -= 0.3
        said.append(f"{name}: " + "; ".join(", ".join(map(str, epoch)) for epoch in numbers))
    axes.set_xlim(-0.1, 2.0 + 1.25 * widest)
    axes.set_ylim(y + 0.6, 0.6)
    return fig, (
        "The numbers drawn for eight samples in each epoch. A number that occurs more than twice "
        "always has the same color. " + ". ".join(said) + "."
    )


@style.drawing
def stacking_times() -> tuple[Figure, str]:
    """Plot the recorded times of several ways of turning 256 samples into one array."""
    run = measurements.load("data_loading")
    times = run["series"]["stacking"]
    fig, axes = style.figure(6, 3.4)
    said = []
    for row, (name, ms) in enumerate(times.items()):
        axes.barh(-row, ms, color=style.ORANGE if name.startswith("jnp") else style.BLUE,
                  height=0.3)  # fmt: skip
        axes.text(0, -row + 0.32, f"{name}: {_ms(ms)}", fontsize=10, va="center")
        said.append(f"{name}: {_ms(ms)}")
    axes.set_yticks([])
    axes.set_ylim(-len(times) + 0.6, 0.65)
    axes.set_xlim(0, 1.05 * max(times.values()))
    axes.set_xlabel(
        f"ms until the array is on the device\n{measurements.machine(run)}", fontsize=10
    )
    axes.grid(axis="y", visible=False)
    axes.set_title("Creating one array from 256 images of 28 × 28 bytes")
    return fig, "Bar chart of the time to create the batch. " + "; ".join(said) + "."


def _ms(value: float) -> str:
    return f"{value:.2g} ms"


def _bars(axes: Axes, times: Mapping[str, float], load: float, step: float, end: float) -> None:
    for at, line in ((max(load, step), "--"), (load + step, ":")):
        axes.axvline(at, color=style.INK, linewidth=1.3, linestyle=line)
    tones = (style.ORANGE, style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.PURPLE)
    for row, (value, tone) in enumerate(zip(times.values(), tones, strict=True)):
        axes.barh(-row, value, color=tone, height=0.62)
        # At the left end, the number is away from the vertical lines.
        axes.text(end / 40, -row, f"{value:.0f}", color=style.PAPER, va="center", fontsize=10)


@style.drawing
def loop_times() -> tuple[Figure, str]:
    """Plot the recorded time per batch, including loading, for several loops and two datasets."""
    run = measurements.load("data_loading")
    series = run["series"]["loops"]
    fig, _ = style.figure(6, 4.2)
    fig.clear()
    left, right = fig.subplots(1, 2, sharey=True)
    said = []
    ways = [way for way in series["waits"] if way != "the loader alone"]
    step = run["series"]["step"]
    end = max(max(times.values()) for times in series.values())
    end = max(end, *(times["the loader alone"] + step for times in series.values()))
    for axes, kind in ((left, "waits"), (right, "computes")):
        times = {way: series[kind][way] for way in ways}
        load = series[kind]["the loader alone"]
        _bars(axes, times, load, step, end)
        axes.set_xlim(0, 1.05 * end)
        axes.set_title(f"the reader {kind}", fontsize=11)
        axes.grid(axis="y", visible=False)
        said.append(
            f"when the reader {kind}: "
            + ", ".join(f"{way} {value:.0f} ms" for way, value in times.items())
            + f"; the loader alone {load:.0f} ms, the step alone {step:.0f} ms"
        )
    left.set_yticks([-row for row in range(len(ways))], [_short(way) for way in ways])
    for axes, line, label in (
        (left, "--", "reading or the step, whichever is longer"),
        (right, ":", "reading plus the step"),
    ):
        left.plot([], [], color=style.INK, linewidth=1.3, linestyle=line, label=label)
        axes.set_xlabel("ms per step", fontsize=10)
    legend = fig.legend(loc="outside lower center", ncols=2, fontsize=10)
    legend.set_title(measurements.machine(run))
    legend.get_title().set_fontsize(10)
    fig.suptitle("Time per step, including reading the batch", fontsize=12, fontweight="bold")
    return fig, "Bar chart of the time to read a batch and run a step; " + "; ".join(said) + "."


def _short(way: str) -> str:
    return {
        "loss read every step": "loss read",
        "loss not read": "loss not read",
        "2 on the device ahead": "loss read,\ndeque of 2",
        "a thread ahead": "loss read,\na thread",
        "1 worker": "loss read,\n1 worker",
        "2 workers": "loss read,\n2 workers",
    }[way]


@style.drawing
def prefetched_batches(seen: Mapping[str, Sequence[int]]) -> tuple[Figure, str]:
    """Draw a table of the batches that each step received, with unexpected batches in red.

    Args:
        seen: For each way of loading, the batch number that each step received. Step n expects
            batch n.
    """
    from matplotlib.patches import Rectangle

    steps = max(len(numbers) for numbers in seen.values())
    fig, axes = style.figure(6, 0.55 * len(seen) + 1.0)
    style.blank(axes)
    left, said = 2.9, []
    for column in range(steps):
        axes.text(left + 1.2 * column + 0.5, 0.85, f"step {column}", ha="center", va="center",
                  fontsize=10, color=style.MUTED)  # fmt: skip
    for row, (name, numbers) in enumerate(seen.items()):
        axes.text(0, -row, name, va="center", fontsize=10)
        for column, number in enumerate(numbers):
            right = number == column
            tones = (style.PALE_GREEN, style.GREEN) if right else (style.PALE_RED, style.RED)
            x = left + 1.2 * column
            axes.add_patch(
                Rectangle((x, -row - 0.36), 1.0, 0.72, facecolor=tones[0], edgecolor=tones[1])
            )
            axes.text(x + 0.5, -row, str(number), ha="center", va="center", fontsize=11,
                      fontweight="normal" if right else "bold")  # fmt: skip
        said.append(f"{name}: batches {', '.join(map(str, numbers))}")
    axes.text(
        0, 1.6, "The batch that each step received", fontsize=12, fontweight="bold", va="center"
    )
    axes.set_xlim(-0.1, left + 1.2 * steps)
    axes.set_ylim(-len(seen) + 0.5, 2.0)
    return (
        fig,
        "The batch numbers that the steps received, for each way of prefetching. "
        + "; ".join(said)
        + ".",
    )
