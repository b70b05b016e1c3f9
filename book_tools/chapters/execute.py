"""Execute the chapters whose text changed, and store their outputs.

python -m book_tools execute             the chapters whose .md differs from the stored .ipynb
python -m book_tools execute 04 01       these chapters, changed or not
python -m book_tools execute --all       every chapter
python -m book_tools execute --check     only say which chapters would run; exit 1 if there are any
"""

from __future__ import annotations

import argparse
import asyncio
import os
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
    Pair,
    PairError,
    difference,
    find,
    first_line,
    read_source,
    read_stored,
    write_stored,
)
from book_tools.chapters.kernel import ChapterKernel, environment
from book_tools.chapters.normalize_outputs import scrub_outputs, scrub_text
from book_tools.environment import pins

TIMEOUT = 600  # seconds for one cell


class ChapterError(Exception):
    """A chapter whose cells did not do what the text says they do."""


def _where(pair: Pair, notebook: NotebookNode, index: int) -> str:
    code = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    cell = notebook.cells[index]
    return f"{pair.source.name}, code cell {code.index(index) + 1}: {first_line(cell)}"


def _check_raises(pair: Pair, notebook: NotebookNode) -> None:
    """A cell tagged raises-exception raised, and what its comment names."""
    for index, cell in enumerate(notebook.cells):
        if "raises-exception" not in cell.metadata.get("tags", []):
            continue
        where = _where(pair, notebook, index)
        raised = [output.ename for output in cell.outputs if output.output_type == "error"]
        named = re.search(r"^# raises: (\S+)$", cell.source, re.M)
        if not raised:
            raise ChapterError(f"{where}\n  is tagged raises-exception and raised nothing")
        if not named:
            raise ChapterError(f"{where}\n  wants a line '# raises: {raised[0]}'")
        if named[1] != raised[0]:
            raise ChapterError(f"{where}\n  raised {raised[0]}, its comment says {named[1]}")


def _explain(error: CellExecutionError, cell: NotebookNode) -> str:
    """The last line of the reader's code that ran, and the error."""
    text = scrub_text(str(error.traceback))
    arrows = re.findall(r"Cell In\[\d+\].*?^-+> *(\d+ .*?)$", text, re.M | re.S)
    line = f"  line {arrows[-1].rstrip()}\n" if arrows else ""
    message = "\n    ".join(scrub_text(error.evalue).splitlines()[:6])
    return f"{line}  {error.ename}: {message}"


def execute(pair: Pair, scratch: str) -> NotebookNode:
    """Run a chapter's source and return the notebook as it is to be stored.

    Raises:
        ChapterError: a cell failed, or one tagged raises-exception did not raise as it says.
        PairError: the source cannot be read.
    """
    notebook = read_source(pair)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_manager_class=ChapterKernel,
        record_timing=False,
        resources={"metadata": {"path": str(pair.source.parent)}},
    )
    running = 0

    def started(cell: NotebookNode, cell_index: int, **_: object) -> None:
        nonlocal running
        running = cell_index

    client.on_cell_start = started
    with tempfile.TemporaryFile("w+") as log:
        try:
            asyncio.run(client.async_execute(env=environment(scratch), stderr=log))
        except CellExecutionError as error:
            where = _where(pair, notebook, running)
            raise ChapterError(f"{where}\n{_explain(error, notebook.cells[running])}") from error
        except (CellTimeoutError, DeadKernelError) as error:
            log.seek(0)
            last = [line for line in log.read().splitlines() if "WARNING" not in line][-1:]
            reason = (
                f"ran longer than {TIMEOUT} s"
                if isinstance(error, CellTimeoutError)
                else ("the kernel died" + "".join(f": {line}" for line in last))
            )
            raise ChapterError(f"{_where(pair, notebook, running)}\n  {reason}") from error
    _check_raises(pair, notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)
            cell.outputs = [NotebookNode(output) for output in scrub_outputs(cell.outputs)]
    notebook.metadata = read_source(pair).metadata
    return notebook


def _say(text: str, *, to_stderr: bool = False) -> None:
    print(text, file=sys.stderr if to_stderr else sys.stdout, flush=True)


def _run(pair: Pair, scratch: str) -> bool:
    """Execute and store one chapter, saying so. Returns whether it went well."""
    _say(f"{pair.name}: running")
    begin = time.monotonic()
    try:
        changed = write_stored(pair, execute(pair, scratch))
    except (ChapterError, PairError) as error:
        kept = " (the stored notebook is as before)" if pair.stored.exists() else ""
        _say(f"{pair.name}: failed{kept}\n{error}", to_stderr=True)
        return False
    seconds = time.monotonic() - begin
    _say(f"{pair.name}: {'stored' if changed else 'unchanged'}, {seconds:.1f} s")
    return True


def changed_chapters(pairs: list[Pair]) -> dict[Pair, str]:
    """The chapters that need to run, each with the reason."""
    reasons = {}
    for pair in pairs:
        try:
            stored = read_stored(pair)
            reason = difference(read_source(pair), stored)
        except PairError as error:
            reason = str(error)
        if reason:
            reasons[pair] = reason
    return reasons


def cores() -> int:
    """The processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="chapters, such as 04")
    parser.add_argument("--all", action="store_true", help="every chapter, changed or not")
    parser.add_argument("--check", action="store_true", help="only say which chapters would run")
    parser.add_argument("--chapters", type=Path, default=CHAPTERS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        pairs = find(options.names, options.chapters)
    except PairError as error:
        _say(str(error), to_stderr=True)
        return 2
    changed = changed_chapters(pairs)
    if options.check:
        for pair, reason in changed.items():
            _say(f"{pair.name}: {reason}; run: make chapter NAME={pair.name}", to_stderr=True)
        return 1 if changed else 0
    todo = pairs if options.all or options.names else list(changed)
    if not todo:
        _say(f"All {len(pairs)} chapters are stored as they stand.")
        return 0
    if departures := pins.find_departures():
        _say(
            "Not executed: outputs are stored from the locked environment only, and here is "
            + ", ".join(departures)
            + ".",
            to_stderr=True,
        )
        return 1
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(cores()) as workers:
        results = list(workers.map(lambda pair: _run(pair, scratch), todo))
    return 0 if all(results) else 1
