"""The figure for chapter 08, the cost of padding."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from jaxbits.book.figures import style

if TYPE_CHECKING:
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
        end, count = programs > 30, f"{programs} program{'s' * (programs > 1)}"
        axes.annotate(
            f"{name}\n{count}, {100 * waste:.0f}%",
            (programs, 100 * waste),
            (4 if end else 9, 9 if end else 2),
            textcoords="offset points",
            fontsize=10,
            color=tone,
            ha="right" if end else "left",
        )
        said.append(f"{name}, {100 * waste:.0f} percent with {count}")
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 3, 5, 10, 20, 50], ["1", "2", "3", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.set_xlim(0.85, 90)
    axes.set_ylim(-4, 100)
    axes.set_xlabel("number of compiled programs (logarithmic)")
    axes.set_ylabel("padding, % of all tokens")
    axes.set_title(f"Padding and number of programs for {len(lengths)} sentences")
    return fig, (
        "A plot with one point for each way of padding. It shows how the share of padding falls "
        f"as the number of compiled programs grows: {'; '.join(said)}. A dashed line shows the "
        "least possible padding for each number of sizes. It falls steeply and reaches "
        f"{100 * line[3][1]:.0f} percent with four sizes."
    )
