"""Execute the chapters whose text changed, and store their outputs.

    python -m book_tools execute            chapters whose .md file differs from the stored .ipynb
    python -m book_tools execute 04 01      these chapters, changed or not
    python -m book_tools execute --all      every chapter
    python -m book_tools execute --check    list the chapters that would run; exit with 1 if any

nbclient executes the notebooks. The program does not need jupyter-cache, because a stored notebook
itself shows which text its outputs belong to.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from book_tools.chapters.chapter_files import (
    CHAPTERS,
    ChapterFileError,
    ChapterFiles,
    describe_difference,
    find_chapters,
    first_line,
    read_source,
    read_stored,
    write_stored,
)
from book_tools.chapters.kernel import ChapterKernel, kernel_environment
from book_tools.chapters.normalize_outputs import normalize_outputs, normalize_text
from book_tools.environment import pins
from book_tools.processes import available_cores

TIMEOUT = 600  # The time limit per cell, in seconds.


class ExecutionError(Exception):
    """Raised if a cell fails or does not raise the error that the chapter announces."""


def _locate(chapter: ChapterFiles, notebook: NotebookNode, index: int) -> str:
    """Return a cell's file, number, and first line, given its index in the notebook."""
    code = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    cell = notebook.cells[index]
    return f"{chapter.source.name}, code cell {code.index(index) + 1}: {first_line(cell)}"


def _check_announced_errors(chapter: ChapterFiles, notebook: NotebookNode) -> None:
    """Check that each cell tagged raises-exception raised the error that its comment names."""
    for index, cell in enumerate(notebook.cells):
        if "raises-exception" not in cell.metadata.get("tags", []):
            continue
        where = _locate(chapter, notebook, index)
        raised = [output.ename for output in cell.outputs if output.output_type == "error"]
        named = re.search(r"^# raises: (\S+)$", cell.source, re.M)
        if not raised:
            raise ExecutionError(f"{where}\n  is tagged raises-exception but raised no error")
        if not named:
            raise ExecutionError(f"{where}\n  needs a line '# raises: {raised[0]}'")
        if named[1] != raised[0]:
            raise ExecutionError(f"{where}\n  raised {raised[0]}, but its comment says {named[1]}")


def _summarize(error: CellExecutionError) -> str:
    """Return the error, together with the line in the chapter that raised it."""
    text = normalize_text(str(error.traceback))
    arrows = re.findall(r"Cell In\[\d+\].*?^-+> *(\d+ .*?)$", text, re.M | re.S)
    line = f"  line {arrows[-1].rstrip()}\n" if arrows else ""
    message = "\n    ".join(normalize_text(error.evalue).splitlines()[:6])
    return f"{line}  {error.ename}: {message}"


def execute_chapter(chapter: ChapterFiles, scratch: str) -> NotebookNode:
    """Execute a chapter's text and return the notebook to store.

    Args:
        chapter: The chapter to execute.
        scratch: An empty folder for the kernel's IPython profile.

    Raises:
        ExecutionError: If a cell fails, or if a cell tagged raises-exception does not raise the
            error that its comment names.
        ChapterFileError: If the text cannot be read.
    """
    notebook = read_source(chapter)
    running = 0

    def note_cell(cell: NotebookNode, cell_index: int, **_: object) -> None:
        nonlocal running
        running = cell_index

    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_manager_class=ChapterKernel,
        record_timing=False,
        resources={"metadata": {"path": str(chapter.source.parent)}},
        on_cell_start=note_cell,
    )
    with tempfile.TemporaryFile("w+") as log:
        try:
            asyncio.run(client.async_execute(env=kernel_environment(scratch), stderr=log))
        except CellExecutionError as error:
            where = _locate(chapter, notebook, running)
            raise ExecutionError(f"{where}\n{_summarize(error)}") from error
        except (CellTimeoutError, DeadKernelError) as error:
            log.seek(0)
            last = [line for line in log.read().splitlines() if "WARNING" not in line][-1:]
            reason = (
                f"ran longer than {TIMEOUT} s"
                if isinstance(error, CellTimeoutError)
                else ": ".join(["the kernel died", *last])
            )
            raise ExecutionError(f"{_locate(chapter, notebook, running)}\n  {reason}") from error
    _check_announced_errors(chapter, notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)
            cell.outputs = [NotebookNode(output) for output in normalize_outputs(cell.outputs)]
    notebook.metadata = read_source(chapter).metadata  # Drop the kernel's Python version.
    return notebook


def _report(text: str, *, is_error: bool = False) -> None:
    print(text, file=sys.stderr if is_error else sys.stdout, flush=True)


def _execute_and_store(chapter: ChapterFiles, scratch: str) -> bool:
    """Execute and store one chapter, report the result, and return whether it succeeded."""
    _report(f"{chapter.name}: running")
    begin = time.monotonic()
    try:
        changed = write_stored(chapter, execute_chapter(chapter, scratch))
    except (ExecutionError, ChapterFileError) as error:
        kept = " (the stored notebook has not changed)" if chapter.stored.exists() else ""
        _report(f"{chapter.name}: failed{kept}\n{error}", is_error=True)
        return False
    seconds = time.monotonic() - begin
    _report(f"{chapter.name}: {'stored' if changed else 'unchanged'}, {seconds:.1f} s")
    return True


def find_changed_chapters(chapters: list[ChapterFiles]) -> dict[ChapterFiles, str]:
    """Return the chapters that must be executed, each with the reason."""
    reasons = {}
    for chapter in chapters:
        try:
            stored = read_stored(chapter)
            reason = describe_difference(read_source(chapter), stored)
        except ChapterFileError as error:
            reason = str(error)
        if reason:
            reasons[chapter] = reason
    return reasons


def main(arguments: list[str] | None = None) -> int:
    """Run the command-line program, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="chapters such as 04")
    parser.add_argument("--all", action="store_true", help="every chapter, changed or not")
    parser.add_argument("--check", action="store_true", help="only list the changed chapters")
    parser.add_argument("--chapters", type=Path, default=CHAPTERS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        chapters = find_chapters(options.names, options.chapters)
    except ChapterFileError as error:
        _report(str(error), is_error=True)
        return 2
    changed = find_changed_chapters(chapters)
    if options.check:
        for chapter, reason in changed.items():
            _report(
                f"{chapter.name}: {reason}; run: make chapter NAME={chapter.name}", is_error=True
            )
        return 1 if changed else 0
    wanted = chapters if options.all or options.names else list(changed)
    if not wanted:
        _report(f"All {len(chapters)} chapters are up to date.")
        return 0
    if departures := pins.find_departures():
        _report(
            "Not executed: outputs are stored only from the locked environment, and this one has "
            + ", ".join(departures)
            + ".",
            is_error=True,
        )
        return 1
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(available_cores()) as workers:
        succeeded = list(workers.map(lambda chapter: _execute_and_store(chapter, scratch), wanted))
    return 0 if all(succeeded) else 1
