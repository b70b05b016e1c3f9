"""Put the options of the chapters' Predict boxes in a random order, which gives nothing away.

    python -m book_tools predictions              order the options, as make format does
    python -m book_tools predictions --guessing   and show how far guessing gets

A Predict box is a paragraph that begins with ``**Predict.**`` and, below it, two or more options,
each on a line of its own, with no other line between them::

    **Predict.** What is `temperatures[11]`?

    <details class="predict"><summary>NaN</summary>No. <code>take</code> returns NaN.</details>
    <details class="predict"><summary>The last one</summary>Right. JAX clamps the index.</details>

The answer to the right option begins with "Right", and no other answer does. An option says what
happens and leaves the reason to its answer. When options had reasons, they were the wrong ones,
which gave the right one away.

The order is drawn from a hash of the box's question and options alone. A new box therefore changes
no other box, and a second run changes nothing. An option such as "None of these" stays last.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from book_tools.chapters.chapter_files import Pair, PairError, find, replace_file

_MARK = "**Predict.**"
_OPTION = '<details class="predict">'
_FORM = re.compile(
    r'<details class="predict"><summary>((?:(?!</summary>).)+)</summary>'
    r"((?:(?!</?details).)+)</details>"
)

# "These" refers to the options. "None of them" may refer to things that the question lists.
_LAST = re.compile(r"(?:all|any|both|neither|none) of (?:these|the above)\b", re.I)

# Jupyter and GitHub do not render Markdown inside an HTML block.
_MARKDOWN = re.compile(r"`[^`]+`|\]\(|\*\*|\$[^$]+\$")
_CODE = re.compile(r"<code>.*?</code>")
_REASON = re.compile(r":|\b(?:because|since)\b")


class PredictionError(PairError):
    """A Predict box that cannot be read; the message names its line and says what to do."""


@dataclass(frozen=True)
class Option:
    """One option of a box, as HTML."""

    summary: str
    answer: str

    @property
    def is_right(self) -> bool:
        """Whether its answer says that it is right."""
        return re.match(r"Right\b", _plain(self.answer)) is not None

    @property
    def is_last(self) -> bool:
        """Whether it refers to the options above it and therefore has to stay below them."""
        return _LAST.match(self.text) is not None

    @property
    def text(self) -> str:
        """The text that a reader sees before opening the option."""
        return _plain(self.summary)

    @property
    def line(self) -> str:
        """The option as a line of the chapter."""
        return f"{_OPTION}<summary>{self.summary}</summary>{self.answer}</details>"


@dataclass(frozen=True)
class Box:
    """A question and its options, and the lines of the chapter's text where the options are."""

    question: str
    options: tuple[Option, ...]
    first: int  # counted from 0
    end: int

    @property
    def right(self) -> list[int]:
        """The positions of the right options, which should be one."""
        return [position for position, option in enumerate(self.options) if option.is_right]

    @property
    def drawn(self) -> tuple[Option, ...]:
        """The options in their drawn order."""

        def lot(option: Option) -> tuple[bool, bytes]:
            ticket = f"{self.question}\n{option.summary}"
            return option.is_last, hashlib.sha256(ticket.encode()).digest()

        return tuple(sorted(self.options, key=lot))


def _plain(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", text)).strip()


def read_boxes(text: str) -> list[Box]:
    """Return the Predict boxes of a chapter's text, in their order.

    Raises:
        PredictionError: a question has no options, an option has no question, or an option is not
            on one line in the form that the module's docstring shows.
    """
    lines = text.split("\n")
    boxes: list[Box] = []
    question, asked, end = "", 0, 0
    for number, line in enumerate(lines):
        if line.startswith(_MARK):
            if question:
                break
            asked = number
            blank = next((n for n in range(asked, len(lines)) if not lines[n].strip()), len(lines))
            question = " ".join(" ".join(lines[asked:blank]).removeprefix(_MARK).split())
        elif number >= end and 'class="predict"' in line:
            if not question:
                raise PredictionError(
                    f"line {number + 1}: the option has no question; write '{_MARK} …' above it, "
                    "and leave no lines between the options"
                )
            options = []
            for end in range(number, len(lines) + 1):
                if end == len(lines) or 'class="predict"' not in lines[end]:
                    break
                form = _FORM.fullmatch(lines[end])
                if not form:
                    raise PredictionError(
                        f"line {end + 1}: write the option on one line, as "
                        f"{_OPTION}<summary>option</summary>answer</details>"
                    )
                options.append(Option(form[1], form[2]))
            boxes.append(Box(question, tuple(options), number, end))
            question = ""
    if question:
        raise PredictionError(f"line {asked + 1}: the question has no options below it")
    return boxes


def ordered(text: str) -> str:
    r"""Return a chapter's text with the options of every Predict box in their drawn order.

    Raises:
        PredictionError: a box cannot be read.

    Example:
        >>> box = (
        ...     "**Predict.** What is `x[11]`?\n\n"
        ...     '<details class="predict"><summary>None of these</summary>No.</details>\n'
        ...     '<details class="predict"><summary>9.0</summary>Right.</details>'
        ... )
        >>> print(ordered(box))
        **Predict.** What is `x[11]`?
        <BLANKLINE>
        <details class="predict"><summary>9.0</summary>Right.</details>
        <details class="predict"><summary>None of these</summary>No.</details>
    """
    lines = text.split("\n")
    for box in read_boxes(text):
        lines[box.first : box.end] = [option.line for option in box.drawn]
    return "\n".join(lines)


def findings(text: str) -> Iterator[str]:
    """Yield what is wrong with the Predict boxes of a chapter's text, and what to do about it."""
    try:
        boxes = read_boxes(text)
    except PredictionError as error:
        yield str(error)
        return
    for box in boxes:
        where = f"line {box.first + 1}"
        if len(box.options) < 2:
            yield f"{where}: a Predict box needs at least 2 options, got {len(box.options)}"
        if len(box.right) != 1:
            yield (
                f"{where}: exactly one answer of a Predict box must begin with 'Right', "
                f"got {len(box.right)}"
            )
        if len({option.text for option in box.options}) < len(box.options):
            yield f"{where}: two options of this Predict box are the same"
        for number, option in enumerate(box.options, box.first + 1):
            if markdown := _MARKDOWN.search(_CODE.sub("", option.summary + option.answer)):
                yield (
                    f"line {number}: {markdown[0]!r} is Markdown, which is not rendered inside "
                    "<details>; write HTML"
                )
            if reason := _REASON.search(option.text):
                yield (
                    f"line {number}: the option gives a reason after {reason[0]!r}; say what "
                    "happens, and give the reason in the answer"
                )
        if box.drawn != box.options:
            yield f"{where}: the options are not in their drawn order; run: make format"


# How a reader who knows nothing about JAX might choose, given only the text of each option.
Guess = Callable[[Sequence[str]], Iterable[int]]


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


def guessed(boxes: Iterable[Box], guess: Guess) -> tuple[int, list[float]]:
    """Return how often a guess is right, and its chance in each box where it makes a choice.

    A guess may name several options of a box. It is right if the right option is among them, and
    its chance is their share of the options. A guess that names no option, or all of them, makes
    no choice. An option that stays last counts like any other, because a reader who knows nothing
    finds it as likely as the others.
    """
    hits, chances = 0, []
    for box in boxes:
        named = set(guess([option.text for option in box.options]))
        if 0 < len(named) < len(box.options):
            hits += bool(named & set(box.right))
            chances.append(len(named) / len(box.options))
    return hits, chances


def p_value(hits: int, chances: Sequence[float]) -> float:
    """Return the two-sided p-value of a number of hits, by exact enumeration.

    Args:
        hits: how many of the independent trials succeeded.
        chances: the probability of each trial.

    Example:
        >>> p_value(0, [0.5, 0.5])
        0.5
    """
    distribution = [1.0]
    for chance in chances:
        stay = [p * (1 - chance) for p in distribution] + [0.0]
        move = [0.0] + [p * chance for p in distribution]
        distribution = [a + b for a, b in zip(stay, move, strict=True)]
    # Equal probabilities may differ in their last digits.
    return sum(p for p in distribution if p <= distribution[hits] * (1 + 1e-9))


def guessing(boxes: Sequence[Box]) -> Iterator[str]:
    """Yield a line for each guess, with its hits, what chance would give, and the p-value."""
    for name, guess in GUESSES.items():
        hits, chances = guessed(boxes, guess)
        yield (
            f"{name:16} {hits:3} of {len(chances):3}, by chance {sum(chances):5.1f}, "
            f"p = {p_value(hits, chances):.2g}"
        )


def _read(pair: Pair) -> str:
    return pair.source.read_text(encoding="utf-8")


def order_chapter(pair: Pair) -> bool:
    """Write a chapter's options in their drawn order, and return whether the file changed.

    Raises:
        PredictionError: a box cannot be read.
    """
    try:
        return replace_file(pair.source, ordered(_read(pair)))
    except PredictionError as error:
        raise PredictionError(f"{pair.source.name}, {error}") from error


def lint_boxes(pair: Pair) -> Iterator[str]:
    """Yield what is wrong with a chapter's Predict boxes, one message each."""
    for finding in findings(_read(pair)):
        yield f"chapters/{pair.source.name}, {finding}"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("chapters", nargs="*", help="chapters such as 04; all by default")
    parser.add_argument("--guessing", action="store_true", help="show how far guessing gets")
    options = parser.parse_args(arguments)
    status = 0
    boxes: list[Box] = []
    try:
        for pair in find(options.chapters):
            if order_chapter(pair):
                print(f"{pair.source.name}: ordered")
            for message in lint_boxes(pair):
                print(message, file=sys.stderr)
                status = 1
            boxes += read_boxes(_read(pair))
    except PairError as error:
        print(error, file=sys.stderr)
        return 1
    if options.guessing:
        print(*guessing(boxes), sep="\n")
    return status
