"""Test that manual points replace the grader's, and that incomplete ones yield no score."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jaxbits_grader import cli
from jaxbits_grader.grade_records import CellPoints, GradeRecord
from jaxbits_grader.gradebook.course import Course
from jaxbits_grader.gradebook.manual_points import (
    apply_manual_points,
    read_manual_points,
    set_manual_points,
)

POINTS = {"a": 2.0, "b": 3.0}
CELLS = (CellPoints("a", 2.0, 2.0), CellPoints("b", None, 3.0, "not run"))


def record(status: str, cells: tuple[CellPoints, ...] = CELLS) -> GradeRecord:
    return GradeRecord("ada", status, ("why",), cells, 5.0)


def test_apply_manual_points_keeps_record_if_none_apply() -> None:
    for given in ({}, {"gone": 1.0}):
        assert apply_manual_points(record("partial"), given, POINTS) == record("partial")


def test_apply_manual_points_replaces_grader_points() -> None:
    found = apply_manual_points(record("partial"), {"a": 0.5, "gone": 9.0}, POINTS)
    assert [(cell.id, cell.points) for cell in found.cells] == [("a", 0.5), ("b", None)]
    assert found.notes == ("points entered by hand: a (the grader would give 2)", "why")
    assert (found.status, found.score) == ("partial", 0.5)


def test_apply_manual_points_notes_that_grader_would_give_more() -> None:
    found = apply_manual_points(record("graded"), {"a": 0.5, "b": 1.0}, POINTS)
    assert found.notes == ("points entered by hand: a (the grader would give 2), b", "why")


@pytest.mark.parametrize("status", ["tampered", "unreadable", "failed"])
@pytest.mark.parametrize("given", [{"a": 1.0}, {"b": 0.0}, {"a": 1.0, "gone": 2.0}, {"gone": 1.0}])
def test_apply_manual_points_gives_no_score_if_incomplete(
    status: str, given: dict[str, float]
) -> None:
    assert apply_manual_points(record(status, ()), given, POINTS).score is None


@pytest.mark.parametrize("status", ["tampered", "unreadable", "failed"])
def test_apply_manual_points_gives_score_if_complete(status: str) -> None:
    found = apply_manual_points(record(status, ()), {"b": 0.0, "a": 1.0, "gone": 3.0}, POINTS)
    assert (found.status, found.score) == ("flagged", 1.0)
    assert found.notes == ("points entered by hand: a, b", f"was {status}", "why")
    assert [cell.id for cell in found.cells] == ["a", "b"]


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    from nbgrader.api import Gradebook

    # nbgrader runs alembic by name, and alembic is installed next to Python.
    bin_folder = Path(sys.executable).parent
    monkeypatch.setenv("PATH", str(bin_folder), prepend=os.pathsep)

    course = Course(tmp_path, "course")
    with Gradebook(course.db_url, course.name) as book:
        book.add_assignment("ships")
        book.add_notebook("ships", "ships")
        for name, points in POINTS.items():
            book.add_grade_cell(name, "ships", "ships", max_score=points, cell_type="code")
    return course


@pytest.fixture
def ships() -> Any:
    return SimpleNamespace(name="ships", test_points={"a": 2, "b": 3})


@pytest.mark.filterwarnings("ignore", "error::sqlalchemy.exc.SAWarning")
def test_set_manual_points_stores_and_removes_points(course: Course, ships: Any) -> None:
    assert read_manual_points(course, ships) == {}
    set_manual_points(course, ships, "ada", ["a"], 0.0)
    set_manual_points(course, ships, "ada", ["b"], 2.5)
    set_manual_points(course, ships, "bob", ["b"], 3.0)
    assert read_manual_points(course, ships) == {"ada": {"a": 0.0, "b": 2.5}, "bob": {"b": 3.0}}
    set_manual_points(course, ships, "bob", ["b"], None)
    assert read_manual_points(course, ships) == {"ada": {"a": 0.0, "b": 2.5}}
    for points in (-1.0, 2.5, float("nan")):
        with pytest.raises(ValueError, match=r"points must be between 0 and 2"):
            set_manual_points(course, ships, "ada", ["a"], points)
    with pytest.raises(ValueError, match="test must be 'all' or one of 'a', 'b'; got 'c'"):
        set_manual_points(course, ships, "ada", ["c"], 1.0)


@pytest.mark.filterwarnings("ignore", "error::sqlalchemy.exc.SAWarning")
def test_set_manual_points_enters_all_points_or_none(course: Course, ships: Any) -> None:
    set_manual_points(course, ships, "ada", ["a", "b"], 0.0)
    assert read_manual_points(course, ships) == {"ada": {"a": 0.0, "b": 0.0}}
    with pytest.raises(ValueError, match=r"points must be between 0 and 2 for 'a', got 3"):
        set_manual_points(course, ships, "ada", ["b", "a"], 3.0)
    assert read_manual_points(course, ships) == {"ada": {"a": 0.0, "b": 0.0}}


def test_mark_explains_points_that_are_not_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["mark", "ships", "ada", "a", "one", "--course", "."])
    assert "points must be a number or 'none', got 'one'" in capsys.readouterr().err
