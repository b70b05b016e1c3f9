"""Right and wrong answers to an assignment, which its tests are proven with.

A file in jupytext's percent form; the first line of a cell names the task, says whether the answer
is right or wrong, and what it does: ``# %% running-mean · wrong: keeps the count in a global``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from jaxbits_grader.authoring.assignment_source import ANSWERS, Assignment, SourceError

_HEAD = re.compile(r"# %% (?P<task>[\w-]+) · (?P<kind>right|wrong): (?P<what>.+)")


@dataclass(frozen=True)
class Answer:
    """An answer to one task: what it does, whether it is right, and the text of its cell."""

    task: str
    right: bool
    what: str
    source: str


def read(folder: Path, assignment: Assignment) -> list[Answer]:
    """Read the answers beside an assignment's source.

    Raises:
        SourceError: when there are none, or a cell of theirs cannot be read.
    """
    path = folder / ANSWERS
    if not path.is_file():
        raise SourceError(f"{assignment.name}: there is no {ANSWERS} to prove its tests with")
    found = []
    for part in re.split(r"^(?=# %%)", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, _, source = part.partition("\n")
        match = _HEAD.fullmatch(head.strip())
        if match is None:
            raise SourceError(
                f"{assignment.name}: {ANSWERS} has a cell headed {head.strip()!r}; it should be "
                "like '# %% task-id · wrong: what it does'"
            )
        if match["task"] not in [task.id for task in assignment.tasks]:
            raise SourceError(f"{assignment.name}: {ANSWERS} answers an unknown task, {head!r}")
        kind = match["kind"] == "right"
        found.append(Answer(match["task"], kind, match["what"], source.strip("\n")))
    return found
