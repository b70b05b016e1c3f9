"""Test how `make format` rewrites the code cells and Predict boxes in a chapter."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_tools import format
from book_tools.chapters.chapter_files import ChapterFileError, ChapterFiles
from book_tools.chapters.predict_boxes import reorder_options
from book_tools.chapters.setup_cell import setup_cell
from book_tools.format import format_cells, replace_cells
from book_tools.lint import unformatted_cells

HEAD = "---\nkernelspec:\n  display_name: Python 3\n  name: python3\n---\n\n"


def chapter(folder: Path, *cells: str) -> ChapterFiles:
    blocks = [f"```{{code-cell}} ipython3\n:tags: [a]\n\n{cell}\n```\n\nWords.\n" for cell in cells]
    (folder / "01-a.md").write_text(HEAD + "\n".join(blocks))
    return ChapterFiles(folder / "01-a.md")


def test_format_cells_changes_only_unformatted_cells(tmp_path: Path) -> None:
    pair = chapter(tmp_path, setup_cell(), "%load_ext jaxbits\nx=1", "y = 2")
    assert list(unformatted_cells(pair)) == ["chapters/01-a.md, code cell 2: run: make format"]
    text = pair.source.read_text()
    formatted = replace_cells(text, [new for _, new in format_cells(pair)])
    assert formatted == text.replace("x=1", "x = 1")


def test_format_cells_rejects_invalid_python(tmp_path: Path) -> None:
    pair = chapter(tmp_path, "x = = 1")
    with pytest.raises(ChapterFileError, match=r"01-a\.md: a cell is not valid Python"):
        format_cells(pair)


def test_format_reorders_options_of_predict_boxes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = chapter(tmp_path, "x=1")
    options = [
        f'<details class="predict"><summary>{option}</summary>{answer}</details>'
        for option, answer in (("One", "No."), ("Two", "Right."), ("Three", "No."))
    ]
    question = "**Predict.** How many are there?\n\n"
    text = pair.source.read_text()
    reordered = reorder_options(question + "\n".join(options))
    assert reordered != question + "\n".join(options)
    pair.source.write_text(f"{text}\n{question}" + "\n".join(options))
    monkeypatch.setattr(format, "find_chapters", lambda: [pair])
    monkeypatch.setattr(format, "PYTHON_CODE", ("conftest.py",))
    assert format.main([]) == 0
    assert pair.source.read_text() == f"{text.replace('x=1', 'x = 1')}\n{reordered}\n"
    assert "01-a.md: options of Predict boxes ordered" in capsys.readouterr().out
