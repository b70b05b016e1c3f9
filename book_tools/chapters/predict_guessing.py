"""Shuffle the options in Predict boxes, and measure how often readers can guess the right one.

python -m book_tools predictions              shuffle the options, as make format does
python -m book_tools predictions --guessing   also show how often guesses are right
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

from book_tools.chapters.chapter_files import ChapterFileError, find_chapters
from book_tools.chapters.predict_boxes import Box, lint_boxes, order_chapter, read_boxes

Guess = Callable[[Sequence[str]], Iterable[int]]
"""A strategy for guessing without knowing JAX. It maps the options to the positions it chooses."""


def _extreme(of: Callable[[Iterable[int]], int], size: Callable[[str], int]) -> Guess:
    def guess(texts: Sequence[str]) -> list[int]:
        sizes = [size(text) for text in texts]
        return [position for position, value in enumerate(sizes) if value == of(sizes)]

    return guess


def _matching(pattern: str) -> Guess:
    words = re.compile(pattern, re.I)
    return lambda texts: [n for n, text in enumerate(texts) if words.search(text)]


def _words(text: str) -> int:
    return len(text.split())


GUESSES: dict[str, Guess] = {
    "the first": lambda texts: [0],
    "the second": lambda texts: [1],
    "the third": lambda texts: [2] if len(texts) > 2 else [],
    "the last": lambda texts: [len(texts) - 1],
    "the longest": _extreme(max, len),
    "the shortest": _extreme(min, len),
    "the most words": _extreme(max, _words),
    "the fewest words": _extreme(min, _words),
    "an error": _matching(r"error|raise|fail"),
    "a NaN": _matching(r"\bNaN\b"),
    "an absolute": _matching(r"^(?:all|both|every|none|neither|no|not|never|nothing|nowhere)\b"),
    "a comma": _matching(","),
}


def score_guess(boxes: Iterable[Box], guess: Guess) -> tuple[int, list[float]]:
    """Return how often a strategy is right, and its chance in each box where it makes a choice.

    A strategy may choose several options in a box. It is right if they include the right option,
    and its chance is the fraction of options that it chooses. Choosing none or all of the options
    does not count as a choice. An option that always comes last counts like any other, because to a
    reader who knows nothing, it is as likely as the others.

    Args:
        boxes: The boxes in which the strategy guesses.
        guess: The strategy to score.
    """
    hits, chances = 0, []
    for box in boxes:
        named = set(guess([option.text for option in box.options]))
        if 0 < len(named) < len(box.options):
            hits += bool(named & set(box.right))
            chances.append(len(named) / len(box.options))
    return hits, chances


def p_value(hits: int, chances: Sequence[float]) -> float:
    """Return the two-sided p-value of a number of hits under the Poisson binomial distribution.

    Args:
        hits: The number of independent trials that succeeded.
        chances: The probability that each trial succeeds.

    Example:
        >>> p_value(0, [0.5, 0.5])
        0.5
    """
    distribution = [1.0]
    for chance in chances:
        stay = [p * (1 - chance) for p in distribution] + [0.0]
        move = [0.0] + [p * chance for p in distribution]
        distribution = [a + b for a, b in zip(stay, move, strict=True)]
    # Probabilities that should be equal may differ by a rounding error.
    return sum(p for p in distribution if p <= distribution[hits] * (1 + 1e-9))


def guess_report(boxes: Sequence[Box]) -> Iterator[str]:
    """Yield a line per strategy with its hits, the hits expected by chance, and the p-value."""
    for name, guess in GUESSES.items():
        hits, chances = score_guess(boxes, guess)
        yield (
            f"{name:16} {hits:3} of {len(chances):3}, by chance {sum(chances):5.1f}, "
            f"p = {p_value(hits, chances):.2g}"
        )


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("chapters", nargs="*", help="chapters such as 04; all by default")
    parser.add_argument("--guessing", action="store_true", help="measure how often guessing works")
    options = parser.parse_args(arguments)
    status = 0
    boxes: list[Box] = []
    try:
        for chapter in find_chapters(options.chapters):
            if order_chapter(chapter):
                print(f"{chapter.source.name}: ordered")
            for message in lint_boxes(chapter):
                print(message, file=sys.stderr)
                status = 1
            boxes += read_boxes(chapter.source.read_text(encoding="utf-8"))
    except ChapterFileError as error:
        print(error, file=sys.stderr)
        return 1
    if options.guessing:
        print(*guess_report(boxes), sep="\n")
    return status
