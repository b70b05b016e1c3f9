"""Test the linter's messages. The tests in nbval_exact check that it catches every mutation."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbval_exact import specimen
from nbval_exact.mutations import ALL

from book_tools.chapters.chapter_files import ChapterFiles, read_source, write_stored
from book_tools.lint import lint_chapters


def lint_mutated_specimen(folder: Path, mutation_name: str | None = None) -> list[str]:
    """Write the specimen to files with at most one mutation, and return the linter's messages."""
    stored, source = specimen.stored(), specimen.source()
    if mutation_name:
        mutate, both, *_ = ALL[mutation_name]
        if both:
            mutate(source)
        mutate(stored)
    pair = ChapterFiles(folder / "01-specimen.md")
    pair.source.write_text(specimen.as_myst(source))
    for cell, fresh in zip(stored.cells, read_source(pair).cells, strict=False):
        cell["id"] = fresh.id
    write_stored(pair, stored)
    return lint_chapters(folder, specimen.SETUP)


def test_lint_chapters_accepts_specimen(tmp_path: Path) -> None:
    assert lint_mutated_specimen(tmp_path) == []


@pytest.mark.parametrize(
    ("mutation_name", "expected"),
    [
        (
            "cell_executed_twice",
            "code cell 6 (claims('bit', {'it holds': True})): execution count must be 6, got 7",
        ),
        ("untagged_error", "stores the error TypeError but is not tagged raises-exception"),
        ("removed_error", "is tagged raises-exception but stores no error"),
        ("wrong_raises_comment", "announces KeyError but stores TypeError"),
        ("missing_raises_comment", "needs a line '# raises: TypeError'"),
        ("trailing_semicolon", "ends with ';'"),
        ("machine_path", "prints a machine-specific path: '/home/me/book/model'"),
        ("failed_magic", "stores an error from a magic (UsageError)"),
        ("failed_claim", "stores a failed claim: ✗ it holds"),
        ("kept_color_codes", "stores color codes, addresses, or whole tracebacks"),
        ("blank_line_in_fold", "contains a blank line in a <pre>"),
        ("myst_directive", "uses the MyST directive '```{note}'"),
        ("myst_role", "uses the MyST role '{ref}`h'"),
        ("changed_setup_cell", "the first cell must be the setup cell"),
        ("visible_setup_cell", "the setup cell's only tag must be remove-cell"),
        ("edited_code", "has been edited; run: make chapter NAME=01-specimen"),
        ("removed_raises_tag", "and the notebook's cell have different tags or metadata"),
        ("unexecuted_cell", "was stored without being executed"),
        ("svg_without_role", 'shows a figure without role="img"'),
        ("svg_without_description", "shows a figure without a description in its aria-label"),
        ("overlong_cell", "must have at most 14 lines, got 16; split it"),
        ("title_in_source", "contains a line '#@title'; delete it"),
        ("removed_fold", "and the notebook's cell have different tags or metadata"),
        ("changed_fold_title", "has been edited; run: make chapter NAME=01-specimen"),
        ("shell_command", "%unload_ext jaxbits; got '!ls'"),
        ("check_disabled_by_tag", "got nbval-ignore-output"),
        ("check_disabled_by_comment", "contains '# NBVAL_SKIP', which would disable its check"),
        ("result_from_another_run", "contains a result from a different run, 3"),
    ],
)
def test_lint_chapters_names_chapter_and_problem(
    tmp_path: Path, mutation_name: str, expected: str
) -> None:
    found = lint_mutated_specimen(tmp_path, mutation_name)
    assert len(found) == 1
    assert found[0].startswith("chapters/01-specimen.md")
    assert expected in found[0]


def test_lint_chapters_reports_unpaired_files(tmp_path: Path) -> None:
    (tmp_path / "02-new.md").write_text("# New\n")
    (tmp_path / "03-old.ipynb").write_text("{}")
    assert lint_chapters(tmp_path, "") == [
        "chapters/02-new.md: was never executed; run: make chapter NAME=02-new",
        "chapters/03-old.ipynb: has no source 03-old.md; delete it",
    ]


def test_lint_chapters_allows_myst_syntax_in_code(tmp_path: Path) -> None:
    text = specimen.source()
    text.cells[
        1
    ].source += "\n\n```python\nx = {ref}`y`\n```\n\n<details>\n\nA {b} `c`.\n</details>"
    stored = specimen.stored()
    stored.cells[1].source = text.cells[1].source
    pair = ChapterFiles(tmp_path / "01-specimen.md")
    pair.source.write_text(specimen.as_myst(text))
    for cell, fresh in zip(stored.cells, read_source(pair).cells, strict=True):
        cell["id"] = fresh.id
    write_stored(pair, stored)
    assert lint_chapters(tmp_path, specimen.SETUP) == []
