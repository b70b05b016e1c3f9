"""Read the right and wrong answers that are used to validate an assignment's tests.

The answers are in a file in jupytext's percent format. The first line of each cell names the task,
says whether the answer is right, and describes the answer. For example, the line may be
``# %% running-mean · wrong: uses a global counter``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import (
    ANSWERS_FILE,
    SourceError,
    read_assignment,
)

_HEADING = re.compile(r"# %% (?P<task>[\w-]+) · (?P<kind>right|wrong): (?P<description>.+)")


@dataclass(frozen=True)
class Answer:
    """An answer to one task.

    Attributes:
        task: The id of the task.
        is_right: Whether the answer should get full credit.
        description: A short description of what the answer does.
        source: The source of the answer cell.
    """

    task: str
    is_right: bool
    description: str
    source: str


def read_with_right_answers(folder: Path) -> Assignment:
    """Read the assignment in a folder together with its right answers, if there are any.

    Raises:
        SourceError: If the source or the file with the answers breaks a rule.
    """
    assignment = read_assignment(folder)
    if not (folder / ANSWERS_FILE).is_file():
        return assignment
    right: dict[str, tuple[str, ...]] = {}
    for answer in read_answers(folder, assignment):
        if answer.is_right:
            right[answer.task] = (*right.get(answer.task, ()), answer.source)
    return replace(assignment, right_answers=right)


def read_answers(folder: Path, assignment: Assignment) -> list[Answer]:
    """Read the reference answers for an assignment.

    Args:
        folder: The assignment's folder.
        assignment: The assignment whose tasks the answers may name.

    Raises:
        SourceError: If the answers file is missing, or if the heading of an answer cannot
            be parsed or names an unknown task.
    """
    path = folder / ANSWERS_FILE
    if not path.is_file():
        raise SourceError(f"{assignment.name}: there is no {ANSWERS_FILE} with answers to try")
    tasks = [task.id for task in assignment.tasks]
    answers = []
    for part in re.split(r"^(?=# %%)", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        heading, _, source = part.partition("\n")
        match = _HEADING.fullmatch(heading.strip())
        if match is None:
            raise SourceError(
                f"{assignment.name}: a cell heading in {ANSWERS_FILE} must be of the form "
                f"'# %% task-id · wrong: what it does', got {heading.strip()!r}"
            )
        if match["task"] not in tasks:
            raise SourceError(
                f"{assignment.name}: the task of an answer must be one of "
                f"{', '.join(map(repr, tasks))}; got {match['task']!r}"
            )
        is_right = match["kind"] == "right"
        answers.append(Answer(match["task"], is_right, match["description"], source.strip("\n")))
    return answers
