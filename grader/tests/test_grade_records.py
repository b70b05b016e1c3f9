"""The results table and the stored records."""

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
MARKS = (
    CellPoints("one-a", 2, 2),
    CellPoints("one-b", None, 1),
    CellPoints("two-a", 0.5, 2, "not so"),
)
GRADED = GradeRecord("ada", "graded", (), MARKS, 5)


def table(*records: GradeRecord) -> list[list[str]]:
    text = results_table(records, TASKS)
    text.encode()
    return list(csv.reader(io.StringIO(text, newline="")))


def test_one_line_per_student() -> None:
    unread = GradeRecord("bob", "unreadable", ("not JSON", "x"), (), 5)
    assert table(unread, GRADED) == [
        ["student", "status", "score", "max_score", "notes", "one", "two"],
        ["ada", "graded", "2.5", "5", "", "2", "0.5"],
        ["bob", "unreadable", "", "5", "not JSON; x", "", ""],
    ]


@pytest.mark.parametrize("status", STATUSES)
def test_only_scored_statuses_have_numbers(status: str) -> None:
    line = table(replace(GRADED, status=status))[1]
    assert (line[2] != "") == (line[5] != "") == (status in SCORED_STATUSES)


def test_a_score_of_zero_is_written() -> None:
    nothing = tuple(replace(mark, points=0.0) for mark in MARKS)
    assert table(replace(GRADED, cells=nothing))[1][2] == "0"


NAMES = {
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


@pytest.mark.parametrize("name", NAMES)
def test_names_and_notes_cannot_be_formulas(name: str) -> None:
    lines = table(replace(GRADED, student=name, notes=(name,)))
    assert len(lines) == 2
    assert (lines[1][0], lines[1][4]) == (NAMES[name], NAMES[name])


def test_unsafe_is_noted() -> None:
    assert table(replace(GRADED, unsafe=True))[1][4] == "UNSAFE: graded without a sandbox"


def test_record_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "ada.json"
    odd = replace(GRADED, student="Zoë \udcff", notes=("a\nb", "\ud800"), unsafe=True, seconds=1.5)
    for record in (GRADED, odd):
        write_record(path, record)
        assert read_record(path) == record
    assert [p.name for p in path.parent.iterdir()] == ["ada.json"]


@pytest.mark.parametrize("text", ["", "{", "5", "[]", "null", "{}", '{"cells": 1}', '"x"'])
def test_broken_records_are_ignored(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ada.json"
    path.write_text(text)
    assert read_record(path) is None
    assert read_record(tmp_path / "none.json") is None


@pytest.mark.parametrize("value", [0, -1, 0.01, float("nan"), float("inf")])
def test_impossible_limits_are_rejected(value: float) -> None:
    with pytest.raises(ValueError, match="--memory-gb must be"):
        Limits(memory_gb=value)
