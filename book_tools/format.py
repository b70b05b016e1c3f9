"""Format the Python files, as well as the code cells and Predict boxes in the chapters' text.

    python -m book_tools format

The program changes the .md files, which are the chapters' sources. Changed chapters must then
be executed again, which ``make book`` does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat

from book_tools.chapters.chapter_files import (
    ChapterFileError,
    ChapterFiles,
    find_chapters,
    notebook_text,
    read_source,
)
from book_tools.chapters.folding import without_title
from book_tools.chapters.predict_boxes import order_chapter
from book_tools.files import write_if_changed
from book_tools.project_metadata import PYTHON_CODE, ROOT


def _ruff(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "ruff", *arguments], cwd=ROOT).returncode


def format_cells(chapter: ChapterFiles) -> list[tuple[str, str]]:
    """Return the source of each code cell in a chapter before and after formatting.

    Raises:
        ChapterFileError: If the text cannot be read, or if a cell is not Python.
    """
    before = read_source(chapter)
    for cell in before.cells:
        cell.source = without_title(cell.source)  # ruff would change "#@title" to "# @title".
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / f"{chapter.name}.ipynb"  # ruff skips magics only in notebooks.
        file.write_text(notebook_text(before), encoding="utf-8")
        if _ruff("format", "--quiet", "--config", str(ROOT / "chapters" / "ruff.toml"), str(file)):
            raise ChapterFileError(f"{chapter.source.name}: a cell is not valid Python")
        after = nbformat.read(file, as_version=4)
    return [
        (old.source, new.source)
        for old, new in zip(before.cells, after.cells, strict=True)
        if old.cell_type == "code"
    ]


def replace_cells(text: str, sources: list[str]) -> str:
    r"""Return a chapter's text with the sources of its code cells replaced, in order.

    Args:
        text: The MyST text, which starts with a YAML header.
        sources: The new source of each code cell.

    Example:
        >>> print(replace_cells("---\na: 1\n---\n\n```{code-cell}\nx=1\n```\n", ["x = 1"]), end="")
        ---
        a: 1
        ---
        <BLANKLINE>
        ```{code-cell}
        x = 1
        ```
    """
    notebook = jupytext.reads(text, fmt="md:myst")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, source in zip(code, sources, strict=True):
        cell.source = source
    # jupytext adds its own version to the header, so keep the original header.
    header, end, _ = text.partition("\n---\n")
    return header + end + str(jupytext.writes(notebook, fmt="md:myst")).partition("\n---\n")[2]


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args(arguments)
    existing = [name for name in PYTHON_CODE if (ROOT / name).exists()]
    status = _ruff("check", "--quiet", "--fix-only", *existing)
    status = status or _ruff("format", "--quiet", *existing)
    for chapter in find_chapters():
        try:
            if order_chapter(chapter):
                print(f"{chapter.source.name}: options of Predict boxes ordered")
            formatted = [new for _, new in format_cells(chapter)]
        except ChapterFileError as error:
            print(error, file=sys.stderr)
            status = 1
            continue
        text = chapter.source.read_text(encoding="utf-8")
        if write_if_changed(chapter.source, replace_cells(text, formatted)):
            print(f"{chapter.source.name}: formatted")
    return status
