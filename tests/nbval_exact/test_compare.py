"""The comparison and the lint find every planted mutation, and nothing in a correct notebook."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from nbformat import NotebookNode
from nbval_exact import specimen
from nbval_exact.compare import compare, find_unexecuted_cell
from nbval_exact.mutations import ALL, code

from book_tools.chapters.chapter_files import ChapterFiles, find_chapters, read_source, read_stored
from book_tools.chapters.lint_rules import RULES, Chapter
from book_tools.chapters.setup_cell import setup_cell

MARKED = [
    pytest.param(name, marks=[] if mutation.in_gate else pytest.mark.slow)
    for name, mutation in ALL.items()
]


def find_problems(chapter: Chapter, fresh: list[list[dict]]) -> list[str]:
    """Return everything that the lint and the comparison report."""
    return [what for rule in RULES for _, what in rule(chapter)] + differences(
        chapter.stored, fresh
    )


def differences(stored: NotebookNode, fresh: list[list[dict]]) -> list[str]:
    """Return how the fresh outputs differ from the stored ones, for each cell that differs."""
    cells = zip(code(stored), fresh, strict=False)
    return [found for cell, outputs in cells if (found := compare(cell.outputs, outputs))]


def mutate(name: str, stored: NotebookNode, source: NotebookNode) -> bool:
    """Apply a mutation in place, and return True if there was something to change."""
    if ALL[name].in_source:
        ALL[name].apply(source)
    return ALL[name].apply(stored)


def test_specimen_has_no_problems() -> None:
    assert find_problems(specimen.chapter(), specimen.fresh()) == []


@pytest.mark.parametrize("name", MARKED)
def test_every_mutation_of_the_specimen_is_found(name: str) -> None:
    stored, source = specimen.stored(), specimen.source()
    assert mutate(name, stored, source)
    assert find_problems(specimen.chapter(stored, source), specimen.fresh())
    if ALL[name].group in ("outputs", "errors"):
        assert differences(stored, specimen.fresh())


@pytest.mark.slow
@pytest.mark.parametrize("pair", find_chapters(), ids=lambda pair: pair.name)
def test_every_mutation_of_a_chapter_is_found(pair: ChapterFiles) -> None:
    original = read_stored(pair)
    assert original is not None, "never executed"
    fresh = [copy.deepcopy(cell.outputs) for cell in code(original)]
    chapter = Chapter(pair, read_source(pair), original, setup_cell())
    assert find_problems(chapter, fresh) == []
    applied = 0
    for name in ALL:
        stored, source = copy.deepcopy(original), copy.deepcopy(chapter.source)
        if mutate(name, stored, source):
            applied += 1
            assert find_problems(Chapter(pair, source, stored, chapter.setup), fresh), name
    assert applied >= 22


def picture(**of: object) -> list[dict]:
    return [specimen.shown("display_data", image_png=specimen.png(**of))]  # type: ignore[arg-type]


def test_compare_checks_pixels() -> None:
    assert compare(picture(), picture()) is None
    assert compare(picture(), picture(colour=(33, 119, 180))) is None
    found = compare(picture(), picture(colour=(180, 119, 31)))
    assert found is not None
    assert "100.0% of the pixels differ" in found
    assert compare(picture(), picture(width=21)) == "image/png: stored 20 × 10, now 21 × 10"


@pytest.mark.parametrize(
    ("redrawn", "agrees"),
    [
        (("12.345678", "12.345679"), True),
        (("12.345678", "12.445678"), False),
        (("label 0.50", "label 0.51"), False),
        (("<!-- 0.25 -->", "<!-- 0.26 -->"), False),
        (("#1b2733", "#1b2734"), False),
    ],
)
def test_compare_allows_rounding_in_drawings(redrawn: tuple[str, str], agrees: bool) -> None:
    svg = (
        '<svg aria-label="label 0.50"><!-- 0.25 -->'
        '<path d="M 12.345678 1 L 2.5 3" style="stroke: #1b2733"/></svg>'
    )
    old, new = (
        {"output_type": "display_data", "data": {"image/svg+xml": text}, "metadata": {}}
        for text in (svg, svg.replace(*redrawn))
    )
    assert (compare([old], [new]) is None) is agrees


@pytest.mark.parametrize("line", ["    {}  return x\n", "    seen: drawn from at {}; and {}\n"])
def test_compare_ignores_the_number_of_a_cell_but_not_the_line(line: str) -> None:
    def printed(place: str) -> dict[str, Any]:
        return specimen.stream("stdout", line.replace("{}", place))

    assert compare([printed("In[13]:2")], [printed("In[1]:2")]) is None
    assert compare([printed("In[13]:2")], [printed("4123456789.py:2")]) is None
    assert compare([printed("In[13]:2")], [printed("In[13]:3")])


def test_compare_names_the_first_difference() -> None:
    old, new = specimen.stream("stdout", "a\nb\n"), specimen.stream("stdout", "a\nc\n")
    assert compare([old], [new]) == "stdout, line 2: stored 'b\\n', now 'c\\n'"
    assert compare([], [new]) == "outputs: stored none, now ['stream:stdout']"


def test_compare_not_exact_checks_kinds_and_classes() -> None:
    numbers = specimen.stream("stdout", "1\n"), specimen.stream("stdout", "2\n")
    assert compare([numbers[0]], [numbers[1]], exact=False) is None
    assert compare([numbers[0]], [], exact=False)
    other = specimen.RAISED | {"ename": "KeyError"}
    assert compare([specimen.RAISED], [other], exact=False)


def test_compare_merges_the_pieces_of_a_stream() -> None:
    whole = [specimen.stream("stdout", "ab"), specimen.stream("stderr", "c")]
    pieces = [specimen.stream(n, t) for n, t in [("stdout", "a"), ("stderr", "c"), ("stdout", "b")]]
    assert compare(whole, pieces) is None


def test_find_unexecuted_cell() -> None:
    stored = specimen.stored()
    assert find_unexecuted_cell(stored.cells) is None
    code(stored)[2].execution_count = None
    assert find_unexecuted_cell(stored.cells) == "code cell 3 was stored without being executed"
    assert find_unexecuted_cell([]) == "the notebook has no code cell"
