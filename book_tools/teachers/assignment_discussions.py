"""Write the solutions of an assignment, and the wrong answers that its tests reject."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from jaxbits_grader.authoring.assignment_source import read_assignment
from jaxbits_grader.authoring.cell_markers import solution_source
from jaxbits_grader.authoring.reference_answers import read_answers

from book_tools.teachers.markdown_files import render_file

_REVEALS = Path(__file__).with_name("what_it_reveals.toml")


def read_reveals() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Return what wrong answers reveal, keyed by assignment, task, and description."""
    found: Mapping[str, Mapping[str, Mapping[str, str]]] = tomllib.loads(_REVEALS.read_text("utf8"))
    return found


def discuss_assignment(folder: Path) -> str:
    """Return the solutions and the wrong answers of an assignment as Markdown.

    Args:
        folder: The assignment's folder, for example that of a private variant.

    Raises:
        SourceError: If the source or the answers break a rule.
    """
    assignment = read_assignment(folder)
    answers = read_answers(folder, assignment)
    return render_file(
        "assignment.md",
        assignment=assignment,
        solutions={
            task.id: solution_source(assignment.cell(task.id).source).strip()
            for task in assignment.tasks
        },
        right={
            task.id: [a for a in answers if a.task == task.id and a.is_right]
            for task in assignment.tasks
        },
        wrong={
            task.id: [a for a in answers if a.task == task.id and not a.is_right]
            for task in assignment.tasks
        },
        reveals=read_reveals().get(assignment.name, {}),
    )
