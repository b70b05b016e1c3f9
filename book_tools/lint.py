"""Check the stored chapters without executing them, and the code with ruff and mypy.

python -m book_tools lint              check everything
python -m book_tools lint --chapters   check only the chapters
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from book_tools.chapters.chapter_files import (
    CHAPTERS,
    ChapterFileError,
    ChapterFiles,
    find_chapters,
    first_line,
    read_source,
    read_stored,
)
from book_tools.chapters.lint_rules import RULES, Chapter, check_sync
from book_tools.chapters.predict_boxes import lint_boxes
from book_tools.chapters.setup_cell import setup_cell
from book_tools.format import format_cells
from book_tools.project_metadata import PYTHON_CODE, ROOT


def _locate(chapter: Chapter, cell: NotebookNode | None) -> str:
    """Return the chapter's file and, for a cell, its number and first line."""
    file = f"chapters/{chapter.files.source.name}"
    if cell is None:
        return f"{file}:"
    for notebook in (chapter.stored, chapter.source):
        same = [other for other in notebook.cells if other.cell_type == cell.cell_type]
        for number, other in enumerate(same, 1):
            if other is cell:
                return f"{file}, {cell.cell_type} cell {number} ({first_line(cell)}):"
    return f"{file}:"


def lint_chapter(files: ChapterFiles, setup: str) -> Iterator[str]:
    """Yield a message for each violation of a rule in one chapter.

    Args:
        files: The chapter's files.
        setup: The source that the first cell must have.
    """
    file = f"chapters/{files.source.name}"
    try:
        source, stored = read_source(files), read_stored(files)
    except ChapterFileError as error:
        yield f"{file}: {error}"
        return
    if stored is None:
        yield f"{file}: was never executed; run: make chapter NAME={files.name}"
        return
    chapter = Chapter(files, source, stored, setup)
    for rule in RULES:
        violations = list(rule(chapter))
        for cell, message in violations:
            yield f"{_locate(chapter, cell)} {message}"
        if violations and rule is check_sync:
            return  # The outputs are from a different version of the text.


def lint_chapters(folder: Path = CHAPTERS, setup: str | None = None) -> list[str]:
    """Return a message for each violation in a folder's chapters.

    Args:
        folder: The folder that contains the chapters.
        setup: The source that each chapter's first cell must have. By default, it is the project's
            own setup cell.
    """
    setup = setup_cell() if setup is None else setup
    chapters = find_chapters(folder=folder)
    messages = [message for chapter in chapters for message in lint_boxes(chapter)]
    messages += [message for chapter in chapters for message in lint_chapter(chapter, setup)]
    names = {chapter.name for chapter in chapters}
    for path in sorted(folder.glob("*.ipynb")):
        if path.stem not in names:
            messages.append(f"chapters/{path.name}: has no source {path.stem}.md; delete it")
    return messages


def unformatted_cells(chapter: ChapterFiles) -> Iterator[str]:
    """Yield a message for each code cell that ruff would format differently."""
    try:
        for number, (source, formatted) in enumerate(format_cells(chapter), 1):
            if source != formatted:
                yield f"chapters/{chapter.source.name}, code cell {number}: run: make format"
    except ChapterFileError as error:
        yield f"chapters/{error}"


def _start_code_checks() -> dict[str, subprocess.Popen[str]]:
    """Start ruff and mypy, so that they run while this process checks the chapters."""
    existing = [name for name in PYTHON_CODE if (ROOT / name).exists()]
    notebooks = sorted(str(path.relative_to(ROOT)) for path in CHAPTERS.glob("*.ipynb"))
    concise = ["--output-format", "concise"]
    commands = {
        "ruff check": ["ruff", "check", "--quiet", *concise, *existing, *notebooks],
        "ruff format": ["ruff", "format", "--check", *concise, *existing],
        "mypy": ["mypy", "--no-error-summary"],
    }
    return {
        name: subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name, command in commands.items()
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chapters", action="store_true", help="check only the chapters")
    options = parser.parse_args(arguments)
    running = {} if options.chapters else _start_code_checks()
    messages = lint_chapters()
    if not options.chapters:
        messages += [text for chapter in find_chapters() for text in unformatted_cells(chapter)]
    for message in messages:
        print(message)
    failed = ["chapters"] if messages else []
    for name, process in running.items():
        output, _ = process.communicate()
        if process.returncode:
            print(f"{name}:\n{output.rstrip()}")
            failed.append(name)
    if "ruff format" in failed:
        print("To format the code and the chapters' cells, run: make format")
    print(f"lint: failed in {', '.join(failed)}" if failed else "lint: no problems found")
    return 1 if failed else 0
