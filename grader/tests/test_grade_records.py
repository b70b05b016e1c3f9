"""Test the results table, the stored grade records, and the limits on a run."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from jaxbits_grader.grade_records import (
    SCORED_STATUSES,
    STATUSES,
    CellPoints,
    GradeRecord,
    read_record,
    write_record,
)
from jaxbits_grader.reporting.results_csv import results_table
from jaxbits_grader.running.limits import Limits

TASKS = {"one": ["one-a", "one-b"], "two": ["two-a"]}
CELL_POINTS = (
    CellPoints("one-a", 2, 2),
    CellPoints("one-b", None, 1),
    CellPoints("two-a", 0.5, 2, "not so"),
)
GRADED = GradeRecord("ada", "graded", (), CELL_POINTS, 5)


def table(*records: GradeRecord) -> list[list[str]]:
    text = results_table(records, TASKS)
    text.encode()
    return list(csv.reader(io.StringIO(text, newline="")))


def test_results_table_has_one_row_per_student() -> None:
    unreadable = GradeRecord("bob", "unreadable", ("not JSON", "x"), (), 5)
    assert table(unreadable, GRADED) == [
        ["student", "status", "score", "max_score", "notes", "one", "two", "feedback"],
        ["ada", "graded", "2.5", "5", "", "2", "0.5", "ada.html"],
        ["bob", "unreadable", "", "5", "not JSON; x", "", "", "bob.html"],
    ]


@pytest.mark.parametrize("status", STATUSES)
def test_results_table_shows_score_if_status_is_scored(status: str) -> None:
    line = table(replace(GRADED, status=status))[1]
    assert (line[2] != "") == (line[5] != "") == (status in SCORED_STATUSES)


def test_results_table_shows_score_of_zero() -> None:
    cells_with_zero_points = tuple(replace(cell, points=0.0) for cell in CELL_POINTS)
    assert table(replace(GRADED, cells=cells_with_zero_points))[1][2] == "0"


ESCAPED_NAMES = {
    "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
    "+1": "'+1",
    "-1": "'-1",
    "@sum": "'@sum",
    "\t=1": "'=1",
    "\x00=1": "'=1",
    "a\r\nb": "a b",
    "a\u2028b": "a b",
    'o"b, c;d': 'o"b, c;d',
    "Zoë ☃": "Zoë ☃",
}


@pytest.mark.parametrize("name", ESCAPED_NAMES)
def test_results_table_escapes_formulas(name: str) -> None:
    lines = table(replace(GRADED, student=name, notes=(name,)))
    assert len(lines) == 2
    assert (lines[1][0], lines[1][4]) == (ESCAPED_NAMES[name], ESCAPED_NAMES[name])


def test_results_table_notes_unsafe_grading() -> None:
    assert table(replace(GRADED, unsafe=True))[1][4] == "UNSAFE: graded without a sandbox"


def test_read_record_returns_written_record(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "ada.json"
    odd = replace(GRADED, student="Zoë \udcff", notes=("a\nb", "\ud800"), unsafe=True, seconds=1.5)
    for record in (GRADED, odd):
        write_record(path, record)
        assert read_record(path) == record
    assert [p.name for p in path.parent.iterdir()] == ["ada.json"]


@pytest.mark.parametrize("text", ["", "{", "5", "[]", "null", "{}", '{"cells": 1}', '"x"'])
def test_read_record_ignores_broken_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ada.json"
    path.write_text(text)
    assert read_record(path) is None
    assert read_record(tmp_path / "none.json") is None


@pytest.mark.parametrize("value", [0, -1, 0.01, float("nan"), float("inf")])
def test_limits_reject_impossible_memory(value: float) -> None:
    with pytest.raises(ValueError, match="--memory-gb must be"):
        Limits(memory_gb=value)
