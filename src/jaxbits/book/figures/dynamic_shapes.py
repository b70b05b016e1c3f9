"""Figures for chapter 08: the costs of padding and of recreating a function."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from jaxbits.book import measurements
from jaxbits.book.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BUCKETS = (32, 64, 128)


def sentence_lengths(count: int = 400, median: float = 18.0, spread: float = 0.6) -> list[int]:
    """Return the token counts for a made-up corpus with many short sentences and a few long ones.

    The counts are quantiles of a log-normal distribution, in a fixed random order.

    Args:
        count: The number of sentences in the corpus.
        median: The median number of tokens.
        spread: The standard deviation of the logarithm of the length.

    >>> lengths = sentence_lengths()
    >>> min(lengths), max(lengths), len(set(lengths)), sum(lengths)
    (3, 110, 65, 8612)
    """
    normal = NormalDist(math.log(median), spread)
    lengths = [round(math.exp(normal.inv_cdf((i + 0.5) / count))) for i in range(count)]
    random.Random(43).shuffle(lengths)
    return lengths


def smallest_bucket(length: int, sizes: Sequence[int]) -> int:
    """Return the smallest size that is at least `length`.

    Args:
        length: The number of tokens in the sentence.
        sizes: The sizes of the buckets, in any order.

    >>> smallest_bucket(32, (32, 64)), smallest_bucket(33, (32, 64))
    (32, 64)
    """
    return min(size for size in sizes if size >= length)


def padding_cost(lengths: Sequence[int], sizes: Sequence[int]) -> tuple[int, float]:
    """Return the number of sizes that the sentences use, and the share of padding tokens.

    Args:
        lengths: The number of tokens in each sentence.
        sizes: The sizes that the sentences can be padded to.

    >>> padding_cost([2, 3, 4], [4]), padding_cost([2, 3, 4], [2, 3, 4])
    ((1, 0.25), (3, 0.0))
    """
    padded = [smallest_bucket(length, sizes) for length in lengths]
    return len(set(padded)), 1 - sum(lengths) / sum(padded)


def best_bucket_sizes(lengths: Sequence[int], most: int) -> list[list[int]]:
    """For each number of sizes up to `most`, return the sizes that need the least padding.

    Args:
        lengths: The number of tokens in each sentence.
        most: The largest number of sizes to consider.

    >>> best_bucket_sizes([2, 2, 2, 9, 10], 2)
    [[10], [2, 10]]
    """
    ends = sorted(set(lengths))
    counts = [sum(1 for n in lengths if n <= end) for end in ends]
    # cheapest[k][j] is the best (tokens, sizes) for the first j + 1 lengths and k + 1 sizes.
    cheapest = [[(counts[j] * end, [end]) for j, end in enumerate(ends)]]
    for k in range(1, most):
        row = [cheapest[k - 1][0]]
        for j in range(1, len(ends)):
            row.append(
                min(
                    (
                        cheapest[k - 1][i][0] + (counts[j] - counts[i]) * ends[j],
                        [*cheapest[k - 1][i][1], ends[j]],
                    )
                    for i in range(j)
                )
            )
        cheapest.append(row)
    return [row[-1][1] for row in cheapest]


def bucket_choices(lengths: Sequence[int]) -> dict[str, list[int]]:
    """Return a dict that maps each padding strategy in the chapter to its bucket sizes."""
    longest = max(BUCKETS)
    return {
        "one size": [longest],
        "32 / 64 / 128": list(BUCKETS),
        "powers of two": [8, 16, 32, 64, longest],
        "multiples of 8": list(range(8, longest + 1, 8)),
        "exact": sorted(set(lengths)),
    }


@style.drawing
def padding_against_programs(lengths: Sequence[int] | None = None) -> tuple[Figure, str]:
    """Plot the fraction of padding against the number of programs for each padding strategy.

    Args:
        lengths: The lengths of the sentences. The default is `sentence_lengths()`.
    """
    lengths = lengths or sentence_lengths()
    fig, axes = style.figure(6, 4)
    best = best_bucket_sizes(lengths, 16)
    line = [padding_cost(lengths, sizes) for sizes in best]
    axes.plot(
        [programs for programs, _ in line],
        [100 * waste for _, waste in line],
        color=style.MUTED,
        linewidth=1.4,
        linestyle="--",
    )
    axes.text(2.05, 26, "best possible\nsizes", fontsize=10, color=style.MUTED, ha="right")
    said = []
    tones = (style.RED, style.BLUE, style.PURPLE, style.GREEN, style.ORANGE)
    for (name, sizes), tone in zip(bucket_choices(lengths).items(), tones, strict=True):
        programs, waste = padding_cost(lengths, sizes)
        axes.plot(programs, 100 * waste, "o", color=tone, markersize=9)
        end = programs > 30
        axes.annotate(
            f"{name}\n{programs} program{'s' * (programs > 1)}, {100 * waste:.0f} %",
            (programs, 100 * waste),
            (4 if end else 9, 9 if end else 2),
            textcoords="offset points",
            fontsize=10,
            color=tone,
            ha="right" if end else "left",
        )
        said.append(f"{name}: {programs} with {100 * waste:.0f} percent padding")
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 3, 5, 10, 20, 50], ["1", "2", "3", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.set_xlim(0.85, 90)
    axes.set_ylim(-4, 100)
    axes.set_xlabel("programs to compile (logarithmic)")
    axes.set_ylabel("padding, % of all tokens computed")
    axes.set_title(f"{len(lengths)} sentences: what a few sizes buy")
    return fig, (
        "Points for ways of padding, the number of compiled programs against the share of "
        f"padding. {'; '.join(said)}. A dashed line shows the least waste possible for each "
        f"number of sizes: it falls steeply and is at {100 * line[3][1]:.0f} percent with four."
    )


def _bars(axes: Axes, lengths: Sequence[int], sizes: Sequence[int], tone: str, pale: str) -> None:
    for row, length in enumerate(lengths):
        size = smallest_bucket(length, sizes)
        axes.barh(row, size, height=0.86, color=pale)
        axes.barh(row, length, height=0.86, color=tone)
    axes.invert_yaxis()
    axes.set_xlim(0, max(BUCKETS) + 2)
    axes.set_yticks([])
    axes.grid(axis="y", visible=False)


@style.drawing
def computed_tokens(lengths: Sequence[int] | None = None, show: int = 24) -> tuple[Figure, str]:
    """Draw the tokens that a program processes for a few sentences, with one size and with buckets.

    Args:
        lengths: The lengths of the sentences. The default is `sentence_lengths()`.
        show: The number of sentences to draw.
    """
    from matplotlib.figure import Figure

    lengths = (lengths or sentence_lengths())[:show]
    fig = Figure(figsize=(6, 3.6), layout="constrained")
    left, right = fig.subplots(1, 2)
    _bars(left, lengths, [max(BUCKETS)], style.RED, style.PALE_RED)
    _bars(right, lengths, BUCKETS, style.BLUE, style.PALE_BLUE)
    for axes, name, sizes in ((left, "one size", [max(BUCKETS)]), (right, "buckets", BUCKETS)):
        _, waste = padding_cost(lengths, sizes)
        axes.set_title(f"{name}: {100 * waste:.0f} % padding")
        axes.set_xticks([0, *BUCKETS])
        axes.set_xlabel("tokens (pale: padding)")
    left.set_ylabel(f"the first {show} sentences")
    return fig, (
        f"{show} sentences as bars, each a dark part of words and a pale part of padding. In one "
        f"size of {max(BUCKETS)} tokens most of the area is pale; in the buckets "
        f"{', '.join(map(str, BUCKETS))} most bars end at {min(BUCKETS)}, and far less is."
    )


def _milliseconds(value: float) -> str:
    return f"{value:.0f} ms" if value >= 10 else f"{value:.2g} ms"


@style.drawing
def retrace_costs() -> tuple[Figure, str]:
    """Plot the recorded call times of jitted functions that are kept or recreated for each call."""
    run = measurements.load("made_anew")
    results = run["results"]
    fig, axes = style.figure(6, 2.9)
    said = []
    for row, (name, result) in enumerate(reversed(results.items())):
        kept = name.startswith("kept")
        tone = style.BLUE if kept else style.ORANGE
        axes.barh(row, result["median"], color=tone, height=0.62)
        axes.text(result["median"] * 1.2, row, _milliseconds(result["median"]), va="center")
        said.append(f"{name} {_milliseconds(result['median'])}")
    axes.set_yticks(range(len(results)), list(reversed(results)))
    axes.set_xscale("log")
    top = max(r["median"] for r in results.values())
    axes.set_xlim(min(r["median"] for r in results.values()) / 3, 12 * top)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"ms a call, median (logarithmic)\n{measurements.machine(run)}", fontsize=9)
    axes.set_title("A jitted function, kept or made on each call")
    return fig, "Bars on a logarithmic axis, a call each: " + "; ".join(reversed(said)) + "."
