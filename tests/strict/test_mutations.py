"""The comparison and the lint catch every planted mutation, and nothing in what is right."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from nbformat import NotebookNode
from strict import specimen
from strict.compare import compare, unrun
from strict.mutations import ALL, code

from book_tools.chapters.chapter_files import ChapterFiles, find_chapters, read_source, read_stored
from book_tools.chapters.lint_rules import RULES, Chapter
from book_tools.chapters.setup_cell import setup_cell

CHAPTERS = find_chapters()


def problems(chapter: Chapter, fresh: list[list[dict]]) -> list[str]:
    """All that the lint and the comparison say; the comparison goes through JSON, as files do."""
    found = [what for rule in RULES for _, what in rule(chapter)]
    cells = zip(code(chapter.stored), fresh, strict=False)
    found += [said for cell, outputs in cells if (said := compare(cell.outputs, outputs))]
    return found


def mutated(name: str, stored: NotebookNode, source: NotebookNode) -> bool:
    """Apply one mutation in place; returns whether there was something to apply it to."""
    mutation, both = ALL[name]
    if both:
        mutation(source)
    return mutation(stored)


def test_the_specimen_passes() -> None:
    assert problems(specimen.chapter(), specimen.fresh()) == []


def test_there_are_many_kinds() -> None:
    assert len(ALL) >= 22


@pytest.mark.parametrize("name", ALL)
def test_a_mutation_of_the_specimen_is_caught(name: str) -> None:
    stored, source = specimen.stored(), specimen.source()
    assert mutated(name, stored, source)
    assert problems(specimen.chapter(stored, source), specimen.fresh())


@pytest.mark.parametrize("pair", CHAPTERS, ids=lambda pair: pair.name)
def test_mutations_of_a_chapter_are_caught(pair: ChapterFiles) -> None:
    original = read_stored(pair)
    assert original is not None, "never executed"
    fresh = [copy.deepcopy(cell.outputs) for cell in code(original)]
    chapter = Chapter(pair, read_source(pair), original, setup_cell())
    assert problems(chapter, fresh) == []
    applied = 0
    for name in ALL:
        stored, source = copy.deepcopy(original), copy.deepcopy(chapter.source)
        if mutated(name, stored, source):
            applied += 1
            assert problems(Chapter(pair, source, stored, chapter.setup), fresh), name
    assert applied >= 22


CAUGHT_BY_COMPARISON = [
    "another_number_printed", "another_result", "another_table", "another_picture",
    "nonsense_in_a_traceback", "error_on_another_line", "another_count_of_frames",
    "a_frame_less", "another_class_of_error", "another_message", "an_error_less",
    "another_order_of_outputs", "result_as_display", "another_stream", "an_output_less",
    "an_output_more", "a_kind_of_data_less", "a_failed_magic", "colours_kept",
]  # fmt: skip


@pytest.mark.parametrize("name", CAUGHT_BY_COMPARISON)
def test_the_comparison_alone_catches(name: str) -> None:
    stored = specimen.stored()
    assert ALL[name][0](stored)
    pairs = zip(code(stored), specimen.fresh(), strict=True)
    assert [said for cell, outputs in pairs if (said := compare(cell.outputs, outputs))]


def picture(**of: object) -> list[dict]:
    return [specimen.shown("display_data", image_png=specimen.png(**of))]  # type: ignore[arg-type]


def test_pixels_are_compared() -> None:
    assert compare(picture(), picture()) is None
    assert compare(picture(), picture(colour=(33, 119, 180))) is None
    said = compare(picture(), picture(colour=(180, 119, 31)))
    assert said is not None
    assert "100.0% of the pixels differ" in said
    assert compare(picture(), picture(width=21)) == "image/png: stored 20 × 10, now 21 × 10"


@pytest.mark.parametrize(
    ("drawn_again", "agrees"),
    [
        (("12.345678", "12.345679"), True),
        (("12.345678", "12.445678"), False),
        (("label 0.50", "label 0.51"), False),
        (("<!-- 0.25 -->", "<!-- 0.26 -->"), False),
        (("#1b2733", "#1b2734"), False),
    ],
)
def test_drawings_may_differ_by_rounding_only(drawn_again: tuple[str, str], agrees: bool) -> None:
    svg = (
        '<svg aria-label="label 0.50"><!-- 0.25 -->'
        '<path d="M 12.345678 1 L 2.5 3" style="stroke: #1b2733"/></svg>'
    )
    old, new = (
        {"output_type": "display_data", "data": {"image/svg+xml": text}, "metadata": {}}
        for text in (svg, svg.replace(*drawn_again))
    )
    assert (compare([old], [new]) is None) is agrees


@pytest.mark.parametrize("line", ["    {}  return x\n", "    seen: drawn from at {}; and {}\n"])
def test_a_place_in_a_cell_is_compared_by_its_line(line: str) -> None:
    def printed(place: str) -> dict[str, Any]:
        return specimen.stream("stdout", line.replace("{}", place))

    assert compare([printed("In[13]:2")], [printed("In[1]:2")]) is None
    assert compare([printed("In[13]:2")], [printed("4123456789.py:2")]) is None
    assert compare([printed("In[13]:2")], [printed("In[13]:3")])


def test_messages_say_what_differs() -> None:
    old, new = specimen.stream("stdout", "a\nb\n"), specimen.stream("stdout", "a\nc\n")
    assert compare([old], [new]) == "stdout, line 2: stored 'b\\n', now 'c\\n'"
    assert compare([], [new]) == "outputs: stored none, now ['stream:stdout']"


def test_relaxed_comparison_sees_kinds_and_classes_only() -> None:
    numbers = specimen.stream("stdout", "1\n"), specimen.stream("stdout", "2\n")
    assert compare([numbers[0]], [numbers[1]], exact=False) is None
    assert compare([numbers[0]], [], exact=False)
    other = specimen.RAISED | {"ename": "KeyError"}
    assert compare([specimen.RAISED], [other], exact=False)


def test_streams_flushed_in_pieces_are_one() -> None:
    whole = [specimen.stream("stdout", "ab"), specimen.stream("stderr", "c")]
    pieces = [specimen.stream(n, t) for n, t in [("stdout", "a"), ("stderr", "c"), ("stdout", "b")]]
    assert compare(whole, pieces) is None


def test_a_notebook_stored_without_a_run_is_named() -> None:
    stored = specimen.stored()
    assert unrun(stored.cells) is None
    code(stored)[2].execution_count = None
    assert unrun(stored.cells) == "code cell 3 was stored without being run"
    assert unrun([]) == "holds no code cell"
