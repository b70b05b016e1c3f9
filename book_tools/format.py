"""Format the Python files and, in the text of the chapters, the code cells and Predict boxes.

    .venv/bin/python -m book_tools format

The cells are formatted in the .md, which is their source, and the options of the Predict boxes are
put in their drawn order. The changed chapters then have to be executed again (``make book`` does).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat

from book_tools.chapters.chapter_files import (
    Pair,
    PairError,
    find,
    notebook_text,
    read_source,
    replace_file,
)
from book_tools.chapters.folding import without_title
from book_tools.chapters.predict_boxes import order_chapter
from book_tools.project_metadata import PYTHON_CODE, ROOT

_CELL = re.compile(r"^(```\{code-cell\}[^\n]*\n(?::[^\n]*\n|\n)*)(.*?)(^```$)", re.M | re.S)


def _ruff(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "ruff", *arguments], cwd=ROOT).returncode


def formatted_cells(pair: Pair) -> list[tuple[str, str]]:
    """The chapter's code cells as they are and as ruff, which knows magics, writes them.

    Raises:
        PairError: a cell is not Python.
    """
    before = read_source(pair)
    for cell in before.cells:
        cell.source = without_title(cell.source)  # ruff writes "# @title"
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / f"{pair.name}.ipynb"
        file.write_text(notebook_text(before), encoding="utf-8")
        if _ruff("format", "--quiet", "--config", str(ROOT / "chapters" / "ruff.toml"), str(file)):
            raise PairError(f"{pair.source.name}: a cell is not Python that ruff can read")
        after = nbformat.read(file, as_version=4)
    return [
        (old.source, new.source)
        for old, new in zip(before.cells, after.cells, strict=True)
        if old.cell_type == "code"
    ]


def replace_cells(text: str, cells: list[str]) -> str:
    r"""The chapter's text with its code cells replaced, in order.

    Example:
        >>> replace_cells("```{code-cell} ipython3\nx=1\n```", ["x = 1"])
        '```{code-cell} ipython3\nx = 1\n```'
    """
    waiting = iter(cells)
    return _CELL.sub(lambda match: f"{match[1]}{next(waiting)}\n{match[3]}", text)


def main() -> int:
    """Format everything; returns the exit status."""
    there = [name for name in PYTHON_CODE if (ROOT / name).exists()]
    status = _ruff("check", "--quiet", "--fix-only", *there) or _ruff("format", "--quiet", *there)
    for pair in find():
        try:
            if order_chapter(pair):
                print(f"{pair.source.name}: options of Predict boxes ordered")
            cells = [better for _, better in formatted_cells(pair)]
        except PairError as error:
            print(error, file=sys.stderr)
            status = 1
            continue
        text = pair.source.read_text(encoding="utf-8")
        if len(_CELL.findall(text)) != len(cells):
            print(f"{pair.source.name}: has code cells in a form not known here", file=sys.stderr)
            status = 1
        elif replace_file(pair.source, replace_cells(text, cells)):
            print(f"{pair.source.name}: formatted")
    return status
