"""The Predict boxes: one right option each, in a drawn order that helps nobody to guess it."""

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

# Below this p-value, a guess does better or worse than chance. The right option used to be first
# in none of 113 boxes, which has a p-value of 5e-21.
BOUND = 1e-3


def text_of(stem: str) -> str:
    return (ROOT / "chapters" / f"{stem}.md").read_text(encoding="utf-8")


def written(question: str, *options: tuple[str, str]) -> str:
    lines = [Option(summary, answer).line for summary, answer in options]
    return f"**Predict.** {question}\n\n" + "\n".join(lines) + "\n"


def with_right_at(positions: Sequence[int], size: int = 3, texts: str = "abcd") -> list[Box]:
    """Boxes as somebody might arrange them, with the right option at the given positions."""
    return [
        Box(
            f"Question {number}",
            tuple(Option(texts[n], "Right." if n == at else "No.") for n in range(size)),
            0,
            size,
        )
        for number, at in enumerate(positions)
    ]


def p_of(name: str, boxes: Sequence[Box]) -> float:
    return p_value(*score_guess(boxes, GUESSES[name]))


BOOK = [box for stem in STEMS for box in read_boxes(text_of(stem))]
BOX = written("What is it?", ("One", "No."), ("Two", "Right."), ("Three", "No."), ("Four", "No."))


@pytest.mark.parametrize("stem", STEMS)
def test_a_chapter_has_boxes_and_the_lint_finds_nothing_in_them(stem: str) -> None:
    text = text_of(stem)
    boxes = read_boxes(text)
    assert len(boxes) == text.count("**Predict.**") > 0
    assert sum(len(box.options) for box in boxes) == text.count('class="predict"')
    assert all(len(box.right) == 1 for box in boxes)
    assert list(lint_boxes(ChapterFiles(ROOT / "chapters" / f"{stem}.md"))) == []
    assert reorder_options(text) == text


@pytest.mark.parametrize("name", GUESSES)
def test_no_way_of_guessing_differs_from_chance(name: str) -> None:
    assert p_of(name, BOOK) >= BOUND


def test_the_order_that_the_boxes_once_had_is_refused() -> None:
    once = with_right_at([1] * 56 + [2] * 54) + with_right_at([3] * 2, size=4)
    assert p_of("the first", once) < 1e-19
    assert p_of("the second", once) < BOUND
    assert p_of("the last", once) < BOUND


@pytest.mark.parametrize(
    ("name", "boxes"),
    [
        ("the first", with_right_at([0] * 15)),
        ("the second", with_right_at([0, 2] * 20)),
        ("the third", with_right_at([0, 1] * 20)),
        ("the last", with_right_at([0, 1] * 20)),
        ("the longest", with_right_at([2, 2, 2, 1] * 10, texts=("a", "aa", "aaa"))),
        ("the shortest", with_right_at([2, 2, 1, 1] * 10, texts=("a", "aa", "aaa"))),
        ("the most words", with_right_at([2, 2, 2, 1] * 10, texts=("a", "a a", "a a a"))),
        ("the fewest words", with_right_at([2, 2, 1, 1] * 10, texts=("a", "a a", "a a a"))),
        ("an error", with_right_at([1, 2] * 10, texts=("It raises a TypeError", "1", "2"))),
        ("a NaN", with_right_at([0] * 10, texts=("NaN", "1", "2"))),
        ("an absolute", with_right_at([1, 2] * 10, texts=("None", "1", "2"))),
        ("a comma", with_right_at([0] * 10, texts=("1, 2", "1", "2"))),
    ],
)
def test_a_book_that_gives_the_right_option_away_is_refused(name: str, boxes: list[Box]) -> None:
    assert p_of(name, boxes) < BOUND


def test_an_option_that_stays_last_counts_like_any_other() -> None:
    texts = ("a", "b", "None of these")
    never = with_right_at([0, 1] * 20, texts=texts)
    assert p_of("the last", never) < BOUND
    sometimes = with_right_at([0, 1, 2] * 13, texts=texts)
    assert p_of("the last", sometimes) > 0.5


def test_every_order_is_drawn_about_equally_often() -> None:
    size = 3000
    boxes = with_right_at([0] * size)
    orders = [tuple(option.text for option in box.drawn) for box in boxes]
    for order in itertools.permutations("abc"):
        assert binomtest(orders.count(order), size, 1 / 6).pvalue >= BOUND


def test_the_draw_depends_on_the_question_and_the_options_alone() -> None:
    lines = BOX.split("\n")
    head, options = lines[:2], lines[2:6]
    drawn = {
        reorder_options("\n".join([*head, *order, ""])) for order in itertools.permutations(options)
    }
    assert len(drawn) == 1
    (text,) = drawn
    assert reorder_options(text) == text
    assert reorder_options(f"Before.\n\n{BOX}\nBetween.\n\n{BOX}") == (
        f"Before.\n\n{text}\nBetween.\n\n{text}"
    )
    asked = {
        reorder_options(BOX.replace("What is it?", f"What is {n}?")).split("\n", 2)[2]
        for n in "xyz"
    }
    assert len(asked) > 1


@pytest.mark.parametrize("last", ["None of these", "All of the above", "Both of these"])
def test_an_option_about_the_others_stays_last(last: str) -> None:
    for number in range(20):
        text = written(f"Question {number}?", (last, "No."), ("One", "Right."), ("Two", "No."))
        (box,) = read_boxes(reorder_options(text))
        assert box.options[-1].summary == last


def test_an_option_about_a_list_in_the_question_is_drawn() -> None:
    texts = [
        written(f"Which of `f` and `g`, {n}?", ("None of them", "No."), ("Both", "Right."))
        for n in range(20)
    ]
    firsts = {read_boxes(reorder_options(text))[0].options[0].summary for text in texts}
    assert firsts == {"None of them", "Both"}


def test_code_between_the_question_and_its_options_is_kept() -> None:
    question, options = BOX.split("\n\n")
    text = f"{question}\n\n```python\nx = 1\n\n```\n\n{options}"
    assert reorder_options(text).startswith(f"{question}\n\n```python\nx = 1\n\n```\n\n<details")
    assert read_boxes(text)[0].drawn == read_boxes(BOX)[0].drawn


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Right.", "No.", "line 3: exactly one answer of a Predict box must begin with 'Right'"),
        ("Three</summary>No.", "Three</summary>Right.", "must begin with 'Right', got 2"),
        ("Three</summary>", "Two</summary>", "two options of this Predict box are the same"),
        ("Three</summary>No.", "Three</summary>No, `x`.", "'`x`' is Markdown"),
        ("Three</summary>No.", "Three</summary>[No](a.md).", "'](' is Markdown"),
        ("<summary>Three", "<summary>Three: it is odd", "the option gives a reason after ':'"),
        ("<summary>Three", "<summary>Three because", "gives a reason after 'because'"),
    ],
)
def test_what_is_wrong_with_a_box_is_said(old: str, new: str, said: str) -> None:
    assert list(find_problems(reorder_options(BOX))) == []
    (message,) = find_problems(reorder_options(BOX.replace(old, new)))
    assert said in message


def test_stars_and_brackets_in_code_are_not_markdown() -> None:
    text = BOX.replace("Three</summary>No.", "Three</summary>No, <code>f[2**4](x**2)</code>.")
    assert list(find_problems(reorder_options(text))) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("**Predict.** What is it?\n\nWords.\n", "line 1: the question has no options below it"),
        (f"**Predict.** What is it?\n\n{BOX}", "line 1: the question has no options below it"),
        (BOX.split("\n\n")[1], "line 1: the option has no question"),
        (BOX.replace("Two</s", "Two</s\n\n", 1), "line 4: write the option on one line"),
        (BOX.replace("No.</details>\n<d", "No.</details><d", 1), "line 3: write the option on one"),
        (BOX.replace("No.</details>\n", "No.</details>\n\n", 1), "line 5: the option has no ques"),
    ],
)
def test_a_box_that_cannot_be_read_is_named_by_its_line(text: str, said: str) -> None:
    with pytest.raises(PredictionError, match=f"^{said}"):
        read_boxes(text)
    (message,) = find_problems(text)
    assert message.startswith(said)


def test_the_lint_tells_what_to_run_and_the_tool_writes_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = ChapterFiles(tmp_path / "01-a.md")
    (best,) = read_boxes(reorder_options(BOX))
    worst = [(option.summary, option.answer) for option in reversed(best.options)]
    pair.source.write_text(written("What is it?", *worst))
    complaint = (
        "chapters/01-a.md, line 3: the options are not in their drawn order; run: make format"
    )
    assert lint_chapters(tmp_path, "")[0] == complaint
    assert order_chapter(pair)
    assert pair.source.read_text() == reorder_options(BOX)
    assert not order_chapter(pair)
    assert complaint not in lint_chapters(tmp_path, "")

    monkeypatch.setattr(predict_guessing, "find_chapters", lambda names: [pair])
    pair.source.write_text(written("What is it?", *worst))
    assert predict_guessing.main(["--guessing"]) == 0
    out = capsys.readouterr().out
    assert "01-a.md: ordered" in out
    assert "the longest" in out
    assert pair.source.read_text() == reorder_options(BOX)
    pair.source.write_text("**Predict.** What is it?\n")
    assert predict_guessing.main([]) == 1
    assert capsys.readouterr().err == ("01-a.md, line 1: the question has no options below it\n")


@pytest.mark.parametrize(("hits", "trials", "chance"), [(0, 9, 0.3), (5, 12, 0.25), (7, 7, 0.5)])
def test_the_p_value_is_that_of_the_binomial_test_where_the_chances_agree(
    hits: int, trials: int, chance: float
) -> None:
    expected = binomtest(hits, trials, chance).pvalue
    assert p_value(hits, [chance] * trials) == pytest.approx(expected, rel=1e-9)


def test_the_p_value_with_several_chances() -> None:
    # No hit: 0.5 · 0.75; one: 0.5 · 0.75 + 0.5 · 0.25; two: 0.5 · 0.25.
    assert p_value(0, [0.5, 0.25]) == pytest.approx(0.375 + 0.125)
    assert p_value(1, [0.5, 0.25]) == pytest.approx(1)
    assert p_value(2, [0.5, 0.25]) == pytest.approx(0.125)
