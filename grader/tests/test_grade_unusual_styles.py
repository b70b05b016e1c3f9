"""Test that right answers in unusual styles get full marks, and which notes their code gets."""

from __future__ import annotations

from pathlib import Path

import grading_harness as harness
import pytest
from corpus.unusual_styles import unusual_notebook
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import find_assignments, read_assignment
from jaxbits_grader.authoring.notebook_versions import student_notebook
from jaxbits_grader.authoring.reference_answers import read_with_right_answers
from jaxbits_grader.checking.hidden_test_run import run_hidden_tests
from jaxbits_grader.checking.scan import scan_notebook
from jaxbits_grader.intake.notebook_repair import repair_notebook
from jaxbits_grader.notebook import ParsedNotebook
from jaxbits_grader.running.limits import Limits

FOLDERS = find_assignments(harness.ASSIGNMENTS)
LIMITS = Limits(cell_seconds=120, notebook_seconds=900)
# A teacher has to look at this code, because the scan cannot tell it from code that cheats. These
# notes cost no points.
NOTES = {
    "devices-and-memory": ["uses small, a variable of a test", "uses waves, a variable of a test"],
    "immutable-arrays": ["reads an attribute whose name is computed"],
    "precision": ["uses doctest"],
    "random-numbers": ["reads the name of an object that a function is given (__name__)"],
    "stateful-layers": ["uses the attribute addHandler"],
}

each_assignment = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def submitted(assignment: Assignment) -> tuple[ParsedNotebook, ParsedNotebook]:
    """Return a repaired notebook in an unusual style, and the released notebook."""
    released = ParsedNotebook.from_nbformat(student_notebook(assignment))
    own = ParsedNotebook.from_nbformat(unusual_notebook(assignment))
    return repair_notebook(own, released), released


@each_assignment
def test_scan_finds_little_in_unusual_styles(folder: Path) -> None:
    notebook, released = submitted(read_assignment(folder))
    assert notebook.notes == ()
    found = scan_notebook(notebook, released)
    assert found.tampering == ()
    expected = NOTES.get(folder.name, [])
    assert len(found.odd) == len(expected), found.odd
    for note, text in zip(found.odd, expected, strict=True):
        assert note.endswith(text)


# Grading takes half a minute, so these tests grade every other assignment.
@pytest.mark.parametrize("folder", FOLDERS[::2], ids=lambda folder: folder.name)
@harness.needs_sandbox
def test_unusual_styles_get_full_marks(folder: Path, tmp_path: Path) -> None:
    assignment = read_with_right_answers(folder)
    notebook, _ = submitted(assignment)
    result = run_hidden_tests(notebook, assignment, LIMITS, cache=tmp_path)
    lost = {cell.id: cell.message for cell in result.points if cell.points != cell.max_points}
    assert lost == {}
    assert (list(result.odd), list(result.tampering)) == ([], [])
    assert not result.ended
    assert not result.slow
