"""What the lint says; that it catches every planted mutation is shown in tests/nbval_exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbval_exact import specimen
from nbval_exact.mutations import ALL

from book_tools.chapters.chapter_files import ChapterFiles, read_source, write_stored
from book_tools.lint import lint_chapters


def messages(folder: Path, name: str | None = None) -> list[str]:
    """Write the specimen, changed by one mutation, as files, and lint the folder."""
    stored, source = specimen.stored(), specimen.source()
    if name:
        mutation, both, *_ = ALL[name]
        if both:
            mutation(source)
        mutation(stored)
    pair = ChapterFiles(folder / "01-specimen.md")
    pair.source.write_text(specimen.as_myst(source))
    for cell, fresh in zip(stored.cells, read_source(pair).cells, strict=False):
        cell["id"] = fresh.id
    write_stored(pair, stored)
    return lint_chapters(folder, specimen.SETUP)


def test_the_specimen_passes(tmp_path: Path) -> None:
    assert messages(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "cell_executed_twice",
            "code cell 6 (claims('bit', {'it holds': True})): execution count must be 6, got 7",
        ),
        ("untagged_error", "stores a TypeError but is not tagged raises-exception"),
        ("removed_error", "is tagged raises-exception but stores no error"),
        ("wrong_raises_comment", "announces KeyError but stores a TypeError"),
        ("missing_raises_comment", "needs a line '# raises: TypeError'"),
        ("trailing_semicolon", "ends with ';'"),
        ("machine_path", "prints a path of one machine: '/home/me/book/model'"),
        ("failed_magic", "stores the error of a magic (UsageError)"),
        ("failed_claim", "stores a failed claim: ✗ it holds"),
        ("kept_color_codes", "stores color codes, addresses, or whole tracebacks"),
        ("blank_line_in_fold", "contains a blank line in a <pre>"),
        ("myst_directive", "uses the MyST directive '```{note}'"),
        ("myst_role", "uses the MyST role '{ref}`h'"),
        ("changed_setup_cell", "the first cell must be the setup cell"),
        ("visible_setup_cell", "the tags of the setup cell must be remove-cell alone"),
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
        ("result_from_another_run", "contains a result of another run, 3"),
    ],
)
def test_messages_name_the_chapter_and_say_what_to_do(
    tmp_path: Path, name: str, expected: str
) -> None:
    said = messages(tmp_path, name)
    assert len(said) == 1
    assert said[0].startswith("chapters/01-specimen.md")
    assert expected in said[0]


def test_files_that_are_no_pair(tmp_path: Path) -> None:
    (tmp_path / "02-new.md").write_text("# New\n")
    (tmp_path / "03-old.ipynb").write_text("{}")
    assert lint_chapters(tmp_path, "") == [
        "chapters/02-new.md: was never executed; run: make chapter NAME=02-new",
        "chapters/03-old.ipynb: has no source 03-old.md; delete it",
    ]


def test_code_shown_in_text_is_not_taken_for_myst(tmp_path: Path) -> None:
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
