"""Check the stored chapters without running them, then the code: ruff and mypy.

python -m book_tools lint             everything
python -m book_tools lint --chapters  only the chapters
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
    Pair,
    PairError,
    find,
    first_line,
    read_source,
    read_stored,
)
from book_tools.chapters.lint_rules import RULES, Chapter, in_sync
from book_tools.chapters.predict_boxes import lint_boxes
from book_tools.format import formatted_cells
from book_tools.project_metadata import PYTHON_CODE, ROOT, setup_cell


def _where(chapter: Chapter, cell: NotebookNode | None) -> str:
    """The chapter's source and, for a cell, its number and first line."""
    file = f"chapters/{chapter.pair.source.name}"
    if cell is None:
        return f"{file}:"
    for notebook in (chapter.stored, chapter.source):
        same = [other for other in notebook.cells if other.cell_type == cell.cell_type]
        for number, other in enumerate(same, 1):
            if other is cell:
                return f"{file}, {cell.cell_type} cell {number} ({first_line(cell)}):"
    return f"{file}:"


def lint_pair(pair: Pair, setup: str) -> Iterator[str]:
    """What is wrong with one chapter, one message each."""
    file = f"chapters/{pair.source.name}"
    try:
        source, stored = read_source(pair), read_stored(pair)
    except PairError as error:
        yield f"{file}: {error}"
        return
    if stored is None:
        yield f"{file}: was never executed; run: make chapter NAME={pair.name}"
        return
    chapter = Chapter(pair, source, stored, setup)
    for rule in RULES:
        findings = list(rule(chapter))
        for cell, what in findings:
            yield f"{_where(chapter, cell)} {what}"
        if findings and rule is in_sync:
            return  # the outputs of another text: what they hold says nothing


def lint_chapters(chapters: Path = CHAPTERS, setup: str | None = None) -> list[str]:
    """What is wrong with the chapters in a folder.

    Args:
        chapters: the folder.
        setup: the set-up cell every chapter must begin with; the project's when not given.
    """
    setup = setup_cell() if setup is None else setup
    pairs = find(chapters=chapters)
    messages = [message for pair in pairs for message in lint_boxes(pair)]
    messages += [message for pair in pairs for message in lint_pair(pair, setup)]
    names = {pair.name for pair in pairs}
    for path in sorted(chapters.glob("*.ipynb")):
        if path.stem not in names:
            messages.append(f"chapters/{path.name}: has no {path.stem}.md beside it; delete it")
    return messages


def unformatted(pair: Pair) -> Iterator[str]:
    """The code cells of a chapter's text that ruff would write otherwise."""
    try:
        for number, (source, better) in enumerate(formatted_cells(pair), 1):
            if source != better:
                yield f"chapters/{pair.source.name}, code cell {number}: run: make format"
    except PairError as error:
        yield f"chapters/{error}"


def _code() -> list[tuple[str, list[str]]]:
    """The commands that check the code, each with its name."""
    there = [name for name in PYTHON_CODE if (ROOT / name).exists()]
    notebooks = sorted(str(path.relative_to(ROOT)) for path in CHAPTERS.glob("*.ipynb"))
    ruff = [sys.executable, "-m", "ruff"]
    return [
        (
            "ruff check",
            [*ruff, "check", "--quiet", "--output-format", "concise", *there, *notebooks],
        ),
        (
            "ruff format",
            [*ruff, "format", "--check", "--output-format", "concise", *there],
        ),
        ("mypy", [sys.executable, "-m", "mypy", "--no-error-summary"]),
    ]


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chapters", action="store_true", help="only the chapters")
    options = parser.parse_args(arguments)
    running = (
        []
        if options.chapters
        else [
            (
                name,
                subprocess.Popen(
                    command, cwd=ROOT, stdout=subprocess.PIPE, text=True, stderr=subprocess.STDOUT
                ),
            )
            for name, command in _code()
        ]
    )
    messages = lint_chapters()
    if not options.chapters:
        messages += [message for pair in find() for message in unformatted(pair)]
    for message in messages:
        print(message)
    failed = ["chapters"] if messages else []
    for name, process in running:
        output, _ = process.communicate()
        if process.returncode:
            print(f"{name}:\n{output.rstrip()}")
            failed.append(name)
    if "ruff format" in failed:
        print("To format code and the chapters' cells: make format")
    print(f"lint: {', '.join(failed)} to be mended" if failed else "lint: nothing to mend")
    return 1 if failed else 0
