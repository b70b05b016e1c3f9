"""The file for Canvas has what its importer needs, and deletes or overwrites no other score.

The importer: https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_importer.rb
"""

from __future__ import annotations

import csv
import io
import unicodedata
from pathlib import Path

import pytest
from jaxbits_grader.grade_records import CellPoints, GradeRecord
from jaxbits_grader.reporting.canvas_export import CanvasError, fill_in_scores

HEAD = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Nans (77)", "Other (78)"]
HEAD += ["Final Score", "Current Score (Fall)"]
LINES = [
    ["", "", "", "", "", "Manual Posting", "", "", ""],
    ["    Points Possible", "", "", "", "", "10.00", "5.00", "(read only)", "(read only)"],
    ["Lovelace, Ada", "1", "s1", "ada", "A, and B", "3.00", "5.00", "60", "60"],
    ['Hopper, "Amazing" Grace', "2", "s2", "grace", "A", "12.35", "", "", ""],
    ["Noether, Emmy", "3", "s3", "emmy", "A", "", "4", "", ""],
    ["Curie, Marie", "4", "s4", "marie", "A", "EX", "4", "", ""],
    ["Student, Test", "5", "", "a4f2", "A", "", "", "", ""],
]


def record(student: str, score: float | None = 7.5, status: str = "graded") -> GradeRecord:
    marks = () if score is None else (CellPoints("a", score, 10),)
    return GradeRecord(student, status, (), marks, 10)


def export(
    folder: Path, lines: list[list[str]] = LINES, head: list[str] = HEAD, **how: str
) -> Path:
    out = io.StringIO()
    csv.writer(out, delimiter=how.get("delimiter", ",")).writerows([head, *lines])
    path = folder / "export.csv"
    path.write_text(out.getvalue(), encoding=how.get("encoding", "utf-8"), newline="")
    return path


def rows(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def test_scores_are_filled_in_and_others_stay(tmp_path: Path) -> None:
    ours = [record("ada"), record("grace", None, "tampered"), record("emmy", 0.0), record("bob")]
    text, unknown = fill_in_scores(export(tmp_path), ours, "Nans")
    assert rows(text) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Nans (77)"],
        ["", "", "", "", "", "Manual Posting"],
        ["    Points Possible", "", "", "", "", "10.00"],
        ["Lovelace, Ada", "1", "s1", "ada", "A, and B", "7.5"],
        ["Noether, Emmy", "3", "s3", "emmy", "A", "0"],
    ]
    assert unknown == ["bob"]
    assert text.endswith("\r\n")


def test_different_points_are_rejected(tmp_path: Path) -> None:
    lines = [[*line] for line in LINES]
    lines[1][5] = "20.00"
    with pytest.raises(CanvasError, match=r"column: 'Nans' has 20 points in Canvas.* have 10"):
        fill_in_scores(export(tmp_path, lines), [record("ada")], "Nans")


def test_no_score_is_empty(tmp_path: Path) -> None:
    text, _ = fill_in_scores(
        export(tmp_path), [record("ada"), record("emmy", None, "failed")], "Nans (77)"
    )
    assert all(line[-1] for line in rows(text) if line[1])


@pytest.mark.parametrize(
    "names",
    [
        ["s1", "s2"],
        ["1", "2"],
        ["Lovelace, Ada", 'Hopper, "Amazing" Grace'],
        ["lovelaceada_1", "hopperamazinggrace_2"],
    ],
)
def test_students_are_found_by_every_id(tmp_path: Path, names: list[str]) -> None:
    text, unknown = fill_in_scores(export(tmp_path), map(record, names), "Nans")
    assert [line[0] for line in rows(text)[3:]] == ["Lovelace, Ada", 'Hopper, "Amazing" Grace']
    assert unknown == []


def test_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    lines = [[f.replace(".", ",") for f in line] for line in LINES]
    path = export(tmp_path, lines, delimiter=";", encoding="utf-8-sig")
    text, _ = fill_in_scores(path, [record("ada"), record("grace", 12.0)], "Nans")
    assert rows(text, ";")[3] == ["Lovelace, Ada", "1", "s1", "ada", "A, and B", "7.5"]
    assert len({len(line) for line in rows(text, ";")}) == 1


def test_first_and_last_names_in_separate_columns(tmp_path: Path) -> None:
    head = ["LastName", "FirstName", *HEAD[1:5], "Integration ID", "Root Account", *HEAD[5:]]
    line = ["Lovelace", "Ada", "1", "s1", "ada", "A", "i", "r", "", "", "", ""]
    text, _ = fill_in_scores(export(tmp_path, [line], head), [record("ada")], "Nans")
    assert rows(text) == [[*head[:8], "Nans (77)"], [*line[:8], "7.5"]]


def test_students_with_the_same_name_are_reported(tmp_path: Path) -> None:
    twin = ["Lovelace, Ada", "9", "s9", "ada9", "A", "", "", "", ""]
    names = ["Lovelace, Ada", "Noether, Emmy"]
    text, unknown = fill_in_scores(export(tmp_path, [*LINES, twin]), map(record, names), "Nans")
    assert unknown == ["Lovelace, Ada"]
    assert [line[0] for line in rows(text)[3:]] == ["Noether, Emmy"]


def test_students_with_the_same_number_are_reported(tmp_path: Path) -> None:
    ours = [record("lovelaceada_1"), record("lovelace_1", 1.0), record("noetheremmy_3")]
    text, unknown = fill_in_scores(export(tmp_path), ours, "Nans")
    assert unknown == ["lovelace_1", "lovelaceada_1"]
    assert [line[0] for line in rows(text)[3:]] == ["Noether, Emmy"]


def test_decomposed_letters(tmp_path: Path) -> None:
    line = ["Gödel, Kurt", "8", "s8", "gödel", "A", "", "", "", ""]
    name = unicodedata.normalize("NFD", "gödel")
    text, unknown = fill_in_scores(export(tmp_path, [line]), [record(name)], "Nans")
    assert (rows(text)[1][-1], unknown) == ("7.5", [])


def test_short_and_blank_lines(tmp_path: Path) -> None:
    path = export(tmp_path, [*LINES, ["x"], [], ["Short, Line", "6", "s6", "short"]])
    text, unknown = fill_in_scores(path, [record("short")], "Nans")
    assert rows(text)[-1] == ["Short, Line", "6", "s6", "short", "", "7.5"]
    assert unknown == []


@pytest.mark.parametrize("column", ["Student", "ID", "Final Score", "Current Score", "Absent", ""])
def test_only_an_assignment_is_a_column_for_scores(tmp_path: Path, column: str) -> None:
    with pytest.raises(
        CanvasError, match=r"must match one assignment .*\(Nans \(77\), Other \(78\)\)"
    ):
        fill_in_scores(export(tmp_path), [record("ada")], column)


def test_a_name_that_looks_like_another_with_its_number(tmp_path: Path) -> None:
    head = [*HEAD[:5], "Nans (77)", "Nans (77) (80)", *HEAD[7:]]
    text, _ = fill_in_scores(export(tmp_path, head=head), [record("ada")], "Nans (77)")
    assert rows(text)[0][-1] == "Nans (77)"


def test_read_only_columns_are_refused(tmp_path: Path) -> None:
    lines = [LINES[0], [*LINES[1][:5], "(read only)", *LINES[1][6:]], *LINES[2:]]
    with pytest.raises(CanvasError, match="read-only"):
        fill_in_scores(export(tmp_path, lines), [record("ada")], "Nans")


@pytest.mark.parametrize(
    "data", [b"", b"a,b\n1,2\n", "Student,ID\nä,1".encode("latin-1"), b'"' + b"x" * 200_000]
)
def test_other_files_are_rejected(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "export.csv"
    path.write_bytes(data)
    with pytest.raises(CanvasError, match="export: "):
        fill_in_scores(path, [record("ada")], "Nans")


def test_none_of_our_students(tmp_path: Path) -> None:
    with pytest.raises(CanvasError, match="none of the 1 students"):
        fill_in_scores(export(tmp_path), [record("nobody")], "Nans")
