"""Submissions to one assignment, good, broken and hostile, with what must become of each.

`write` puts them into a folder, one entry for each student. None of them is run here: many would
do harm outside of a sandbox, though the worst of them refuse to run there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from jaxbits_grader.authoring.assignment_source import Assignment
from jaxbits_grader.authoring.cell_markers import (
    HIDDEN_TESTS,
    block_texts,
    solution_source,
    visible_tests,
)
from nbformat import NotebookNode

from corpus import damaged, good, output, reading, renamed, shell, tampering, unreadable, web
from corpus import fake_equality as equal
from corpus import kernel_exit as ending
from corpus import network_access as listening
from corpus import repaired as mended
from corpus import resource_abuse as swelling
from corpus.expected import Expected, Submission
from corpus.planted_files import LEFT, STRAY, Secrets, forms, left_behind, snapshot, strays
from corpus.submission_builder import Desk

__all__ = [
    "LEFT",
    "NEIGHBOUR",
    "STRAY",
    "Expected",
    "Secrets",
    "all_submissions",
    "forbidden",
    "left_behind",
    "snapshot",
    "strays",
    "write",
]

# The student whose submission holds `Secrets.other_text`; handed in as a file.
NEIGHBOUR = "neighbour"
MODULES = (
    good, mended, renamed, damaged, unreadable, ending, swelling, output, shell, reading,
    listening, tampering, equal, web,
)  # fmt: skip


def all_submissions(assignment: Assignment, secrets: Secrets) -> Iterator[Submission]:
    """Make all submissions."""
    desk = Desk(assignment, secrets)
    for module in MODULES:
        yield from module.submissions(desk)


def write(
    folder: Path,
    assignment: Assignment,
    secrets: Secrets,
    only: Callable[[Submission], bool] = lambda submission: True,
) -> dict[str, Expected]:
    """Write submissions into a folder, half of them as files, half as folders with a file.

    Args:
        folder: where; it is made.
        assignment: what they answer.
        secrets: what is planted on the machine, for the hostile ones to go after.
        only: which ones to write, such as ``lambda s: s.core and not s.slow``.

    Returns:
        What must become of each, by the student's name. The CSV writes some names otherwise: with
        an apostrophe in front of what looks like a formula, and without line ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    secret = forbidden(assignment, secrets)
    own = set(forms(secrets.other_text))
    written: dict[str, Expected] = {}
    for number, entry in enumerate(all_submissions(assignment, secrets)):
        if not only(entry):
            continue
        if entry.student in written:
            raise ValueError(f"two submissions are called {entry.student!r}")
        as_file = number % 2 == 0 or entry.student == NEIGHBOUR
        _place(folder, entry, f"{assignment.name}.ipynb", as_file)
        written[entry.student] = Expected(
            statuses=entry.statuses,
            score=entry.score,
            notes=entry.notes,
            forbidden=tuple(s for s in secret if entry.student != NEIGHBOUR or s not in own),
            live=entry.live,
            family=entry.family,
            slow=entry.slow,
            core=entry.core,
            what=entry.what,
        )
    return written


def _place(folder: Path, entry: Submission, name: str, as_file: bool) -> None:
    content = entry.content
    if isinstance(content, NotebookNode):
        content = json.dumps(content, indent=1).encode()
    if isinstance(content, Mapping):
        files = {folder / entry.student / file: data for file, data in content.items()}
    elif isinstance(content, bytes):
        place = f"{entry.student}.ipynb" if as_file else f"{entry.student}/{name}"
        files = {folder / place: content}
    else:
        content(folder, entry.student)
        return
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def forbidden(assignment: Assignment, secrets: Secrets) -> tuple[str, ...]:
    """What no student may be shown: the secrets and the hidden tests, as they are and encoded."""
    found = [secrets.text, secrets.value, secrets.other_text, "BEGIN HIDDEN" + " TESTS"]
    return tuple(form for secret in [*found, *hidden(assignment)] for form in forms(secret))


def hidden(assignment: Assignment) -> list[str]:
    """The lines of the hidden tests that say something, and stand nowhere else.

    A line that is only a message does not count: a student is told the one that failed.
    """
    cells = [cell.source for cell in assignment.notebook.cells]
    public = {
        line.strip()
        for source in cells
        for line in solution_source(visible_tests(source)).splitlines()
    }
    lines = [
        line.strip()
        for s in cells
        for part in block_texts(s, HIDDEN_TESTS)
        for line in part.splitlines()
    ]
    told = re.compile(r"[fr]?[\"'].*|.{0,15}")
    return [s for s in dict.fromkeys(lines) if s not in public and not told.fullmatch(s)]
