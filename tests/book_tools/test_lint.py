"""What the lint says; that it catches every planted mutation is shown in tests/nbval_exact."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbval_exact import specimen
from nbval_exact.mutations import ALL

from book_tools.chapters.chapter_files import Pair, read_source, write_stored
from book_tools.lint import lint_chapters


def messages(folder: Path, name: str | None = None) -> list[str]:
    """Write the specimen, changed by one mutation, as files, and lint the folder."""
    stored, source = specimen.stored(), specimen.source()
    if name:
        mutation, both, *_ = ALL[name]
        if both:
            mutation(source)
        mutation(stored)
    pair = Pair(folder / "01-specimen.md")
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
            "run_twice",
            "code cell 6 (claims('bit', {'it holds': True})): has execution count 7, not 6",
        ),
        ("untagged_error", "stores a TypeError and is not tagged raises-exception"),
        ("an_error_less", "is tagged raises-exception and stores no error"),
        ("another_error_announced", "says it raises KeyError and stores a TypeError"),
        ("no_error_announced", "wants a line '# raises: TypeError'"),
        ("semicolon_at_the_end", "ends with ';'"),
        ("a_path_of_one_machine", "prints a path of one machine: '/home/me/book/model'"),
        ("a_failed_magic", "stores a failed magic (UsageError)"),
        ("a_failed_claim", "stores a failed claim: ✗ it holds"),
        ("colours_kept", "stores colours, addresses or whole tracebacks"),
        ("an_empty_line_in_a_fold", "has an empty line in a <pre>"),
        ("a_directive", "uses the MyST directive '```{note}'"),
        ("a_role", "uses the MyST role '{ref}`h'"),
        ("another_set_up", "the first cell must be the set-up cell"),
        ("set_up_shown", "the set-up cell must have the tag remove-cell"),
        ("edited_in_the_notebook", "was edited since; run: make chapter NAME=01-specimen"),
        ("a_tag_less", "has other tags or metadata than the notebook"),
        ("a_cell_not_run", "was stored without being run"),
        ("picture_without_role", 'shows a figure without role="img"'),
        ("picture_without_text", "shows a figure without a text in its aria-label"),
        ("a_cell_too_long", "has 16 lines; split it: 14 at most"),
        ("a_title_in_the_text", "has a line '#@title' in the text; delete it"),
        ("a_fold_less", "has other tags or metadata than the notebook"),
        ("another_title", "was edited since; run: make chapter NAME=01-specimen"),
        ("a_shell_command", "uses '!ls'; of magics only"),
        ("check_switched_off_by_tag", "has the tag nbval-ignore-output"),
        ("check_switched_off_by_comment", "says '# NBVAL_SKIP', which would switch its check off"),
        ("result_of_another_run", "holds a result of another run, 3"),
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
        "chapters/03-old.ipynb: has no 03-old.md beside it; delete it",
    ]


def test_code_shown_in_text_is_not_taken_for_myst(tmp_path: Path) -> None:
    text = specimen.source()
    text.cells[
        1
    ].source += "\n\n```python\nx = {ref}`y`\n```\n\n<details>\n\nA {b} `c`.\n</details>"
    stored = specimen.stored()
    stored.cells[1].source = text.cells[1].source
    pair = Pair(tmp_path / "01-specimen.md")
    pair.source.write_text(specimen.as_myst(text))
    for cell, fresh in zip(stored.cells, read_source(pair).cells, strict=True):
        cell["id"] = fresh.id
    write_stored(pair, stored)
    assert lint_chapters(tmp_path, specimen.SETUP) == []
