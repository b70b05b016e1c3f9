"""Test that each Predict box has one right option, whose position does not give it away."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from chapter_sections import ROOT, STEMS
from scipy.stats import binomtest

from book_tools.chapters import predict_guessing
from book_tools.chapters.chapter_files import ChapterFiles
from book_tools.chapters.predict_boxes import (
    Box,
    Option,
    PredictionError,
    find_problems,
    lint_boxes,
    order_chapter,
    read_boxes,
    reorder_options,
)
from book_tools.chapters.predict_guessing import GUESSES, p_value, score_guess
from book_tools.lint import lint_chapters

# Below this p-value, a guess is right too often or too rarely to be chance. For example, the right
# option was once first in none of 113 boxes, which has a p-value of 5e-21.
MIN_P_VALUE = 1e-3


def chapter_text(stem: str) -> str:
    return (ROOT / "chapters" / f"{stem}.md").read_text(encoding="utf-8")


def box_markdown(question: str, *options: tuple[str, str]) -> str:
    lines = [Option(summary, answer).line for summary, answer in options]
    return f"**Predict.** {question}\n\n" + "\n".join(lines) + "\n"


def boxes_with_right_at(positions: Sequence[int], size: int = 3, texts: str = "abcd") -> list[Box]:
    """Return a box for each position, with the right option at that position."""
    return [
        Box(
            f"Question {number}",
            tuple(
                Option(texts[n], "Right." if n == right_position else "No.") for n in range(size)
            ),
            0,
            size,
        )
        for number, right_position in enumerate(positions)
    ]


def guess_p_value(name: str, boxes: Sequence[Box]) -> float:
    return p_value(*score_guess(boxes, GUESSES[name]))


BOOK_BOXES = [box for stem in STEMS for box in read_boxes(chapter_text(stem))]
BOX_MARKDOWN = box_markdown(
    "What is it?", ("One", "No."), ("Two", "Right."), ("Three", "No."), ("Four", "No.")
)


@pytest.mark.parametrize("stem", STEMS)
def test_chapter_has_boxes_that_pass_lint_boxes(stem: str) -> None:
    text = chapter_text(stem)
    boxes = read_boxes(text)
    assert len(boxes) == text.count("**Predict.**") > 0
    assert sum(len(box.options) for box in boxes) == text.count('class="predict"')
    assert all(len(box.right) == 1 for box in boxes)
    assert list(lint_boxes(ChapterFiles(ROOT / "chapters" / f"{stem}.md"))) == []
    assert reorder_options(text) == text


@pytest.mark.parametrize("name", GUESSES)
def test_guess_is_right_as_often_as_chance_in_book(name: str) -> None:
    assert guess_p_value(name, BOOK_BOXES) >= MIN_P_VALUE


def test_p_value_is_low_for_former_order_of_boxes() -> None:
    former_boxes = boxes_with_right_at([1] * 56 + [2] * 54) + boxes_with_right_at([3] * 2, size=4)
    assert guess_p_value("the first", former_boxes) < 1e-19
    assert guess_p_value("the second", former_boxes) < MIN_P_VALUE
    assert guess_p_value("the last", former_boxes) < MIN_P_VALUE


@pytest.mark.parametrize(
    ("name", "boxes"),
    [
        ("the first", boxes_with_right_at([0] * 15)),
        ("the second", boxes_with_right_at([0, 2] * 20)),
        ("the third", boxes_with_right_at([0, 1] * 20)),
        ("the last", boxes_with_right_at([0, 1] * 20)),
        ("the longest", boxes_with_right_at([2, 2, 2, 1] * 10, texts=("a", "aa", "aaa"))),
        ("the shortest", boxes_with_right_at([2, 2, 1, 1] * 10, texts=("a", "aa", "aaa"))),
        ("the most words", boxes_with_right_at([2, 2, 2, 1] * 10, texts=("a", "a a", "a a a"))),
        ("the fewest words", boxes_with_right_at([2, 2, 1, 1] * 10, texts=("a", "a a", "a a a"))),
        ("an error", boxes_with_right_at([1, 2] * 10, texts=("It raises a TypeError", "1", "2"))),
        ("a NaN", boxes_with_right_at([0] * 10, texts=("NaN", "1", "2"))),
        ("an absolute", boxes_with_right_at([1, 2] * 10, texts=("None", "1", "2"))),
        ("a comma", boxes_with_right_at([0] * 10, texts=("1, 2", "1", "2"))),
    ],
)
def test_p_value_is_low_if_guess_beats_chance(name: str, boxes: list[Box]) -> None:
    assert guess_p_value(name, boxes) < MIN_P_VALUE


def test_score_guess_counts_option_that_stays_last() -> None:
    texts = ("a", "b", "None of these")
    never_right = boxes_with_right_at([0, 1] * 20, texts=texts)
    assert guess_p_value("the last", never_right) < MIN_P_VALUE
    equally_often_right = boxes_with_right_at([0, 1, 2] * 13, texts=texts)
    assert guess_p_value("the last", equally_often_right) > 0.5


def test_drawn_options_have_equally_frequent_orders() -> None:
    size = 3000
    boxes = boxes_with_right_at([0] * size)
    orders = [tuple(option.text for option in box.drawn) for box in boxes]
    for order in itertools.permutations("abc"):
        assert binomtest(orders.count(order), size, 1 / 6).pvalue >= MIN_P_VALUE


def test_reorder_options_depends_on_question_and_options() -> None:
    lines = BOX_MARKDOWN.split("\n")
    head, options = lines[:2], lines[2:6]
    drawn = {
        reorder_options("\n".join([*head, *order, ""])) for order in itertools.permutations(options)
    }
    assert len(drawn) == 1
    (text,) = drawn
    assert reorder_options(text) == text
    assert reorder_options(f"Before.\n\n{BOX_MARKDOWN}\nBetween.\n\n{BOX_MARKDOWN}") == (
        f"Before.\n\n{text}\nBetween.\n\n{text}"
    )
    orders = {
        reorder_options(BOX_MARKDOWN.replace("What is it?", f"What is {n}?")).split("\n", 2)[2]
        for n in "xyz"
    }
    assert len(orders) > 1


@pytest.mark.parametrize("last", ["None of these", "All of the above", "Both of these"])
def test_reorder_options_keeps_none_of_these_last(last: str) -> None:
    for number in range(20):
        text = box_markdown(f"Question {number}?", (last, "No."), ("One", "Right."), ("Two", "No."))
        (box,) = read_boxes(reorder_options(text))
        assert box.options[-1].summary == last


def test_reorder_options_moves_none_of_them_referring_to_question() -> None:
    texts = [
        box_markdown(f"Which of `f` and `g`, {n}?", ("None of them", "No."), ("Both", "Right."))
        for n in range(20)
    ]
    first_options = {read_boxes(reorder_options(text))[0].options[0].summary for text in texts}
    assert first_options == {"None of them", "Both"}


def test_reorder_options_keeps_code_below_question() -> None:
    question, options = BOX_MARKDOWN.split("\n\n")
    text = f"{question}\n\n```python\nx = 1\n\n```\n\n{options}"
    assert reorder_options(text).startswith(f"{question}\n\n```python\nx = 1\n\n```\n\n<details")
    assert read_boxes(text)[0].drawn == read_boxes(BOX_MARKDOWN)[0].drawn


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Right.", "No.", "line 3: exactly one answer in a Predict box must begin with 'Right'"),
        ("Three</summary>No.", "Three</summary>Right.", "must begin with 'Right', got 2"),
        ("Three</summary>", "Two</summary>", "two options in this Predict box are the same"),
        ("Three</summary>No.", "Three</summary>No, `x`.", "'`x`' is Markdown"),
        ("Three</summary>No.", "Three</summary>[No](a.md).", "'](' is Markdown"),
        ("<summary>Three", "<summary>Three: it is odd", "the option gives a reason after ':'"),
        ("<summary>Three", "<summary>Three because", "gives a reason after 'because'"),
    ],
)
def test_find_problems_describes_mistake_in_box(old: str, new: str, expected: str) -> None:
    assert list(find_problems(reorder_options(BOX_MARKDOWN))) == []
    (message,) = find_problems(reorder_options(BOX_MARKDOWN.replace(old, new)))
    assert expected in message


def test_find_problems_allows_stars_and_brackets_in_code() -> None:
    text = BOX_MARKDOWN.replace(
        "Three</summary>No.", "Three</summary>No, <code>f[2**4](x**2)</code>."
    )
    assert list(find_problems(reorder_options(text))) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Predict.** What is it?\n\nWords.\n", "line 1: the question has no options below it"),
        (
            f"**Predict.** What is it?\n\n{BOX_MARKDOWN}",
            "line 1: the question has no options below it",
        ),
        (BOX_MARKDOWN.split("\n\n")[1], "line 1: the option has no question"),
        (BOX_MARKDOWN.replace("Two</s", "Two</s\n\n", 1), "line 4: write the option on one line"),
        (
            BOX_MARKDOWN.replace("No.</details>\n<d", "No.</details><d", 1),
            "line 3: write the option on one",
        ),
        (
            BOX_MARKDOWN.replace("No.</details>\n", "No.</details>\n\n", 1),
            "line 5: the option has no ques",
        ),
    ],
)
def test_read_boxes_reports_line_of_malformed_box(text: str, expected: str) -> None:
    with pytest.raises(PredictionError, match=f"^{expected}"):
        read_boxes(text)
    (message,) = find_problems(text)
    assert message.startswith(expected)


def test_order_chapter_fixes_order_that_linter_rejects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = ChapterFiles(tmp_path / "01-a.md")
    (ordered_box,) = read_boxes(reorder_options(BOX_MARKDOWN))
    reversed_options = [(option.summary, option.answer) for option in reversed(ordered_box.options)]
    pair.source.write_text(box_markdown("What is it?", *reversed_options))
    lint_message = "chapters/01-a.md, line 3: the options have not been shuffled; run: make format"
    assert lint_chapters(tmp_path, "")[0] == lint_message
    assert order_chapter(pair)
    assert pair.source.read_text() == reorder_options(BOX_MARKDOWN)
    assert not order_chapter(pair)
    assert lint_message not in lint_chapters(tmp_path, "")

    monkeypatch.setattr(predict_guessing, "find_chapters", lambda names: [pair])
    pair.source.write_text(box_markdown("What is it?", *reversed_options))
    assert predict_guessing.main(["--guessing"]) == 0
    out = capsys.readouterr().out
    assert "01-a.md: ordered" in out
    assert "the longest" in out
    assert pair.source.read_text() == reorder_options(BOX_MARKDOWN)
    pair.source.write_text("**Predict.** What is it?\n")
    assert predict_guessing.main([]) == 1
    assert capsys.readouterr().err == ("01-a.md, line 1: the question has no options below it\n")


@pytest.mark.parametrize(("hits", "trials", "chance"), [(0, 9, 0.3), (5, 12, 0.25), (7, 7, 0.5)])
def test_p_value_equals_binomtest_for_equal_chances(hits: int, trials: int, chance: float) -> None:
    expected = binomtest(hits, trials, chance).pvalue
    assert p_value(hits, [chance] * trials) == pytest.approx(expected, rel=1e-9)


def test_p_value_handles_unequal_chances() -> None:
    # P(0 hits) = 0.5 · 0.75, P(1 hit) = 0.5 · 0.75 + 0.5 · 0.25, and P(2 hits) = 0.5 · 0.25.
    assert p_value(0, [0.5, 0.25]) == pytest.approx(0.375 + 0.125)
    assert p_value(1, [0.5, 0.25]) == pytest.approx(1)
    assert p_value(2, [0.5, 0.25]) == pytest.approx(0.125)
