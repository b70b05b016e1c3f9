"""Good, broken, and hostile submissions for one assignment, each with its expected result.

`write` writes the submissions into a folder, one entry per student. It runs none of them, because
many do harm outside a sandbox. The most harmful ones refuse to run there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.cell_markers import (
    HIDDEN_TESTS,
    block_texts,
    solution_source,
    visible_tests,
)
from nbformat import NotebookNode

from corpus import (
    damaged,
    fake_equality,
    good,
    hidden_test_theft,
    kernel_exit,
    messy,
    output,
    renamed,
    repaired,
    resource_abuse,
    secret_reading,
    shell,
    tampering,
    unreadable,
    web,
)
from corpus.expected import Expected, Submission
from corpus.planted_files import (
    SLEEP_SECONDS,
    STRAY,
    Secrets,
    encodings,
    leftover_processes,
    snapshot,
    stray_files,
)
from corpus.submission_builder import SubmissionBuilder

__all__ = [
    "NEIGHBOR",
    "SLEEP_SECONDS",
    "STRAY",
    "Expected",
    "Secrets",
    "all_submissions",
    "forbidden_strings",
    "leftover_processes",
    "snapshot",
    "stray_files",
    "write",
]

# The student whose submission contains `Secrets.other_text`. This submission is a file.
NEIGHBOR = "neighbor"
MODULES = (
    good, repaired, renamed, damaged, unreadable, kernel_exit, resource_abuse, output, shell,
    secret_reading, hidden_test_theft, tampering, fake_equality, web, messy,
)  # fmt: skip


def all_submissions(assignment: Assignment, secrets: Secrets) -> Iterator[Submission]:
    """Yield all submissions."""
    builder = SubmissionBuilder(assignment, secrets)
    for module in MODULES:
        yield from module.submissions(builder)


def write(
    folder: Path,
    assignment: Assignment,
    secrets: Secrets,
    only: Callable[[Submission], bool] = lambda submission: True,
) -> dict[str, Expected]:
    """Write submissions to a folder, half of them as files and half as folders.

    Args:
        folder: The folder, which this function creates.
        assignment: The assignment.
        secrets: The targets on the grading machine.
        only: A function that selects submissions, such as ``lambda s: s.core and not s.slow``.

    Returns:
        The expected results, keyed by student name. The results table changes some names, because
        it adds an apostrophe to names that look like formulas and removes line breaks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    secret = forbidden_strings(assignment, secrets)
    neighbor_text = set(encodings(secrets.other_text))
    written: dict[str, Expected] = {}
    for number, entry in enumerate(all_submissions(assignment, secrets)):
        if not only(entry):
            continue
        if entry.student in written:
            raise ValueError(f"two submissions are called {entry.student!r}")
        as_file = number % 2 == 0 or entry.student == NEIGHBOR
        _place(folder, entry, f"{assignment.name}.ipynb", as_file)
        written[entry.student] = Expected(
            statuses=entry.statuses,
            score=entry.score,
            notes=entry.notes,
            forbidden=tuple(
                s for s in secret if entry.student != NEIGHBOR or s not in neighbor_text
            ),
            live=entry.live,
            family=entry.family,
            slow=entry.slow,
            core=entry.core,
            page=entry.page,
            summary=entry.summary,
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


def forbidden_strings(assignment: Assignment, secrets: Secrets) -> tuple[str, ...]:
    """Return the strings that no page may show: the secrets and hidden tests, plain and encoded."""
    found = [secrets.text, secrets.value, secrets.other_text, "BEGIN HIDDEN" + " TESTS"]
    return tuple(
        form for secret in [*found, *hidden_test_lines(assignment)] for form in encodings(secret)
    )


def hidden_test_lines(assignment: Assignment) -> list[str]:
    """Return the lines in hidden tests that appear nowhere else and reveal something.

    A line that is only a message does not count, because a student sees it if the test fails.
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
    only_message = re.compile(r"[fr]?[\"'].*|.{0,15}")
    return [s for s in dict.fromkeys(lines) if s not in public and not only_message.fullmatch(s)]
