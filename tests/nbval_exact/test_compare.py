"""Check that the comparison and the linter find every mutation of a notebook and nothing else."""

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

MUTATION_PARAMS = [
    pytest.param(name, marks=[] if mutation.in_gate else pytest.mark.slow)
    for name, mutation in ALL.items()
]


def find_problems(chapter: Chapter, fresh: list[list[dict]]) -> list[str]:
    """Return everything that the linter and the comparison report."""
    return [what for rule in RULES for _, what in rule(chapter)] + differences(
        chapter.stored, fresh
    )


def differences(stored: NotebookNode, fresh: list[list[dict]]) -> list[str]:
    """Return a description of the difference for each cell whose fresh outputs differ."""
    cells = zip(code(stored), fresh, strict=False)
    return [difference for cell, outputs in cells if (difference := compare(cell.outputs, outputs))]


def mutate(name: str, stored: NotebookNode, source: NotebookNode) -> bool:
    """Apply a mutation in place, and return True if there was something to change."""
    if ALL[name].in_source:
        ALL[name].apply(source)
    return ALL[name].apply(stored)


def test_specimen_has_no_problems() -> None:
    assert find_problems(specimen.chapter(), specimen.fresh()) == []


@pytest.mark.parametrize("name", MUTATION_PARAMS)
def test_mutation_of_specimen_is_found(name: str) -> None:
    stored, source = specimen.stored(), specimen.source()
    assert mutate(name, stored, source)
    assert find_problems(specimen.chapter(stored, source), specimen.fresh())
    if ALL[name].group in ("outputs", "errors"):
        assert differences(stored, specimen.fresh())


# The specimen has every kind of cell and output. These chapters show that the mutations are also
# found in real ones, which contain tracebacks, figures, tables, and the output of a training run.
MUTATED_CHAPTERS = find_chapters(["04", "06", "15"])


@pytest.mark.slow
@pytest.mark.parametrize("pair", MUTATED_CHAPTERS, ids=lambda pair: pair.name)
def test_mutations_of_chapter_are_found(pair: ChapterFiles) -> None:
    original = read_stored(pair)
    assert original is not None, "the chapter was never executed"
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


def png_output(**options: object) -> list[dict]:
    return [specimen.rich_output("display_data", image_png=specimen.png(**options))]  # type: ignore[arg-type]


def test_compare_checks_pixels() -> None:
    assert compare(png_output(), png_output()) is None
    assert compare(png_output(), png_output(color=(33, 119, 180))) is None
    difference = compare(png_output(), png_output(color=(180, 119, 31)))
    assert difference is not None
    assert "100.0% of the pixels differ" in difference
    assert compare(png_output(), png_output(width=21)) == "image/png: stored 20 × 10, now 21 × 10"


@pytest.mark.parametrize(
    ("replacement", "is_equal"),
    [
        (("12.345678", "12.345679"), True),
        (("12.345678", "12.445678"), False),
        (("label 0.50", "label 0.51"), False),
        (("<!-- 0.25 -->", "<!-- 0.26 -->"), False),
        (("#1b2733", "#1b2734"), False),
    ],
)
def test_compare_allows_only_rounding_in_svg(replacement: tuple[str, str], is_equal: bool) -> None:
    svg = (
        '<svg aria-label="label 0.50"><!-- 0.25 -->'
        '<path d="M 12.345678 1 L 2.5 3" style="stroke: #1b2733"/></svg>'
    )
    old, new = (
        {"output_type": "display_data", "data": {"image/svg+xml": text}, "metadata": {}}
        for text in (svg, svg.replace(*replacement))
    )
    assert (compare([old], [new]) is None) is is_equal


@pytest.mark.parametrize("line", ["    {}  return x\n", "    seen: drawn from at {}; and {}\n"])
def test_compare_ignores_cell_number_but_not_line(line: str) -> None:
    def printed_line(location: str) -> dict[str, Any]:
        return specimen.stream("stdout", line.replace("{}", location))

    assert compare([printed_line("In[13]:2")], [printed_line("In[1]:2")]) is None
    assert compare([printed_line("In[13]:2")], [printed_line("4123456789.py:2")]) is None
    assert compare([printed_line("In[13]:2")], [printed_line("In[13]:3")])


def test_compare_describes_first_difference() -> None:
    old, new = specimen.stream("stdout", "a\nb\n"), specimen.stream("stdout", "a\nc\n")
    assert compare([old], [new]) == "stdout, line 2: stored 'b\\n', now 'c\\n'"
    assert compare([], [new]) == "outputs: stored none, now ['stream:stdout']"


def test_compare_inexact_checks_types_and_error_classes() -> None:
    numbers = specimen.stream("stdout", "1\n"), specimen.stream("stdout", "2\n")
    assert compare([numbers[0]], [numbers[1]], exact=False) is None
    assert compare([numbers[0]], [], exact=False)
    other_error = specimen.ERROR | {"ename": "KeyError"}
    assert compare([specimen.ERROR], [other_error], exact=False)


def test_compare_merges_stream_pieces() -> None:
    whole = [specimen.stream("stdout", "ab"), specimen.stream("stderr", "c")]
    pieces = [specimen.stream(n, t) for n, t in [("stdout", "a"), ("stderr", "c"), ("stdout", "b")]]
    assert compare(whole, pieces) is None


def test_find_unexecuted_cell_reports_cell_number() -> None:
    stored = specimen.stored()
    assert find_unexecuted_cell(stored.cells) is None
    code(stored)[2].execution_count = None
    assert find_unexecuted_cell(stored.cells) == "code cell 3 was stored without being executed"
    assert find_unexecuted_cell([]) == "the notebook has no code cell"
