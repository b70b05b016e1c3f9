"""Put the options in Predict boxes in random order, so that the order gives no hint.

A Predict box consists of a paragraph that begins with ``**Predict.**`` and two or more options
below it. Each option is on its own line, with no other line in between::

    **Predict.** What is `temperatures[11]`?

    <details class="predict"><summary>NaN</summary>No. <code>take</code> returns NaN.</details>
    <details class="predict"><summary>The last one</summary>Right. JAX clamps the index.</details>

Only the answer to the right option begins with "Right". An option says what happens, and its answer
gives the reason. In earlier versions, the wrong options also included reasons, which gave the
right one away.

The order depends only on a hash of the box's question and options. Therefore, a new box changes no
other box, and a second run changes nothing. An option such as "None of these" stays last.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from book_tools.chapters.chapter_files import ChapterFileError, ChapterFiles
from book_tools.files import write_if_changed

_MARK = "**Predict.**"
_OPTION = '<details class="predict">'
_FORM = re.compile(
    r'<details class="predict"><summary>((?:(?!</summary>).)+)</summary>'
    r"((?:(?!</?details).)+)</details>"
)

# "These" refers to the options, but "None of them" may refer to things that the question lists.
_LAST = re.compile(r"(?:all|any|both|neither|none) of (?:these|the above)\b", re.I)

# Jupyter and GitHub do not render Markdown inside an HTML block.
_MARKDOWN = re.compile(r"`[^`]+`|\]\(|\*\*|\$[^$]+\$")
_CODE = re.compile(r"<code>.*?</code>")
_REASON = re.compile(r":|\b(?:because|since)\b")


class PredictionError(ChapterFileError):
    """Raised if a Predict box cannot be parsed. The message names the line and says what to do."""


@dataclass(frozen=True)
class Option:
    """One option of a box, as HTML.

    Attributes:
        summary: The text that a reader sees before opening the option.
        answer: The text that a reader sees after opening it.
    """

    summary: str
    answer: str

    @property
    def is_right(self) -> bool:
        """Whether the answer begins with "Right"."""
        return re.match(r"Right\b", _plain(self.answer)) is not None

    @property
    def is_last(self) -> bool:
        """Whether the option refers to the other options and must therefore stay below them."""
        return _LAST.match(self.text) is not None

    @property
    def text(self) -> str:
        """The summary as plain text."""
        return _plain(self.summary)

    @property
    def line(self) -> str:
        """The option as a line of the chapter's text."""
        return f"{_OPTION}<summary>{self.summary}</summary>{self.answer}</details>"


@dataclass(frozen=True)
class Box:
    """A question and its options.

    Attributes:
        question: The text of the question.
        options: The options, in the order in which they appear in the text.
        first: The index of the line with the first option, counted from 0.
        end: The index of the line after the last option.
    """

    question: str
    options: tuple[Option, ...]
    first: int
    end: int

    @property
    def right(self) -> list[int]:
        """The positions of the right options, of which there should be exactly one."""
        return [position for position, option in enumerate(self.options) if option.is_right]

    @property
    def drawn(self) -> tuple[Option, ...]:
        """The options in random order, as determined by the hash."""

        def sort_key(option: Option) -> tuple[bool, bytes]:
            text = f"{self.question}\n{option.summary}"
            return option.is_last, hashlib.sha256(text.encode()).digest()

        return tuple(sorted(self.options, key=sort_key))


def _plain(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", text)).strip()


def read_boxes(text: str) -> list[Box]:
    """Return the Predict boxes in a chapter's text, in order.

    Raises:
        PredictionError: If a question has no options, if an option has no question, or if an option
            does not have the form shown in the docstring of this module.
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


def reorder_options(text: str) -> str:
    r"""Return a chapter's text with the options of every Predict box in random order.

    Raises:
        PredictionError: If a box cannot be read.

    Example:
        >>> box = (
        ...     "**Predict.** What is `x[11]`?\n\n"
        ...     '<details class="predict"><summary>None of these</summary>No.</details>\n'
        ...     '<details class="predict"><summary>9.0</summary>Right.</details>'
        ... )
        >>> print(reorder_options(box))
        **Predict.** What is `x[11]`?
        <BLANKLINE>
        <details class="predict"><summary>9.0</summary>Right.</details>
        <details class="predict"><summary>None of these</summary>No.</details>
    """
    lines = text.split("\n")
    for box in read_boxes(text):
        lines[box.first : box.end] = [option.line for option in box.drawn]
    return "\n".join(lines)


def find_problems(text: str) -> Iterator[str]:
    """Yield a message for each problem with a text's Predict boxes, including a way to fix it."""
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
                f"{where}: exactly one answer in a Predict box must begin with 'Right', "
                f"got {len(box.right)}"
            )
        if len({option.text for option in box.options}) < len(box.options):
            yield f"{where}: two options in this Predict box are the same"
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
            yield f"{where}: the options have not been shuffled; run: make format"


def _read(chapter: ChapterFiles) -> str:
    return chapter.source.read_text(encoding="utf-8")


def order_chapter(chapter: ChapterFiles) -> bool:
    """Put the options in a chapter's file in random order, and return whether the file changed.

    Raises:
        PredictionError: If a box cannot be read.
    """
    try:
        return write_if_changed(chapter.source, reorder_options(_read(chapter)))
    except PredictionError as error:
        raise PredictionError(f"{chapter.source.name}, {error}") from error


def lint_boxes(chapter: ChapterFiles) -> Iterator[str]:
    """Yield a message for each problem in a chapter's Predict boxes."""
    for finding in find_problems(_read(chapter)):
        yield f"chapters/{chapter.source.name}, {finding}"
