"""Test that Canvas can import the exported scores without losing any other score.

The importer is https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_importer.rb
"""

from __future__ import annotations

import csv
import io
import unicodedata
from pathlib import Path

import pytest
from jaxbits_grader.grade_records import CellPoints, GradeRecord
from jaxbits_grader.reporting.canvas_export import CanvasError, fill_in_scores

HEADER = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Nans (77)", "Other (78)"]
HEADER += ["Final Score", "Current Score (Fall)"]
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
    cells = () if score is None else (CellPoints("a", score, 10),)
    return GradeRecord(student, status, (), cells, 10)


def export(
    folder: Path, lines: list[list[str]] = LINES, header: list[str] = HEADER, **options: str
) -> Path:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=options.get("delimiter", ",")).writerows([header, *lines])
    path = folder / "export.csv"
    path.write_text(buffer.getvalue(), encoding=options.get("encoding", "utf-8"), newline="")
    return path


def rows(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def test_fill_in_scores_writes_only_scored_students(tmp_path: Path) -> None:
    records = [record("ada"), record("grace", None, "tampered"), record("emmy", 0.0), record("bob")]
    text, unknown = fill_in_scores(export(tmp_path), records, "Nans")
    assert rows(text) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Nans (77)"],
        ["", "", "", "", "", "Manual Posting"],
        ["    Points Possible", "", "", "", "", "10.00"],
        ["Lovelace, Ada", "1", "s1", "ada", "A, and B", "7.5"],
        ["Noether, Emmy", "3", "s3", "emmy", "A", "0"],
    ]
    assert unknown == ["bob"]
    assert text.endswith("\r\n")


def test_fill_in_scores_rejects_different_max_score(tmp_path: Path) -> None:
    lines = [[*line] for line in LINES]
    lines[1][5] = "20.00"
    with pytest.raises(CanvasError, match=r"column: 'Nans' has 20 points in Canvas.* have 10"):
        fill_in_scores(export(tmp_path, lines), [record("ada")], "Nans")


def test_fill_in_scores_writes_no_empty_score(tmp_path: Path) -> None:
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
def test_fill_in_scores_finds_students_by_every_id(tmp_path: Path, names: list[str]) -> None:
    text, unknown = fill_in_scores(export(tmp_path), map(record, names), "Nans")
    assert [line[0] for line in rows(text)[3:]] == ["Lovelace, Ada", 'Hopper, "Amazing" Grace']
    assert unknown == []


def test_fill_in_scores_reads_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    lines = [[f.replace(".", ",") for f in line] for line in LINES]
    path = export(tmp_path, lines, delimiter=";", encoding="utf-8-sig")
    text, _ = fill_in_scores(path, [record("ada"), record("grace", 12.0)], "Nans")
    assert rows(text, ";")[3] == ["Lovelace, Ada", "1", "s1", "ada", "A, and B", "7.5"]
    assert len({len(line) for line in rows(text, ";")}) == 1


def test_fill_in_scores_reads_separate_name_columns(tmp_path: Path) -> None:
    header = ["LastName", "FirstName", *HEADER[1:5], "Integration ID", "Root Account", *HEADER[5:]]
    line = ["Lovelace", "Ada", "1", "s1", "ada", "A", "i", "r", "", "", "", ""]
    text, _ = fill_in_scores(export(tmp_path, [line], header), [record("ada")], "Nans")
    assert rows(text) == [[*header[:8], "Nans (77)"], [*line[:8], "7.5"]]


def test_fill_in_scores_reports_ambiguous_name(tmp_path: Path) -> None:
    twin = ["Lovelace, Ada", "9", "s9", "ada9", "A", "", "", "", ""]
    names = ["Lovelace, Ada", "Noether, Emmy"]
    text, unknown = fill_in_scores(export(tmp_path, [*LINES, twin]), map(record, names), "Nans")
    assert unknown == ["Lovelace, Ada"]
    assert [line[0] for line in rows(text)[3:]] == ["Noether, Emmy"]


def test_fill_in_scores_reports_records_with_same_id(tmp_path: Path) -> None:
    records = [record("lovelaceada_1"), record("lovelace_1", 1.0), record("noetheremmy_3")]
    text, unknown = fill_in_scores(export(tmp_path), records, "Nans")
    assert unknown == ["lovelace_1", "lovelaceada_1"]
    assert [line[0] for line in rows(text)[3:]] == ["Noether, Emmy"]


def test_fill_in_scores_matches_decomposed_unicode(tmp_path: Path) -> None:
    line = ["Gödel, Kurt", "8", "s8", "gödel", "A", "", "", "", ""]
    name = unicodedata.normalize("NFD", "gödel")
    text, unknown = fill_in_scores(export(tmp_path, [line]), [record(name)], "Nans")
    assert (rows(text)[1][-1], unknown) == ("7.5", [])


def test_fill_in_scores_accepts_short_and_blank_lines(tmp_path: Path) -> None:
    path = export(tmp_path, [*LINES, ["x"], [], ["Short, Line", "6", "s6", "short"]])
    text, unknown = fill_in_scores(path, [record("short")], "Nans")
    assert rows(text)[-1] == ["Short, Line", "6", "s6", "short", "", "7.5"]
    assert unknown == []


@pytest.mark.parametrize("column", ["Student", "ID", "Final Score", "Current Score", "Absent", ""])
def test_fill_in_scores_rejects_column_without_assignment(tmp_path: Path, column: str) -> None:
    with pytest.raises(
        CanvasError, match=r"must match one assignment .*\(Nans \(77\), Other \(78\)\)"
    ):
        fill_in_scores(export(tmp_path), [record("ada")], column)


def test_fill_in_scores_prefers_exact_column_name(tmp_path: Path) -> None:
    header = [*HEADER[:5], "Nans (77)", "Nans (77) (80)", *HEADER[7:]]
    text, _ = fill_in_scores(export(tmp_path, header=header), [record("ada")], "Nans (77)")
    assert rows(text)[0][-1] == "Nans (77)"


def test_fill_in_scores_rejects_read_only_column(tmp_path: Path) -> None:
    lines = [LINES[0], [*LINES[1][:5], "(read only)", *LINES[1][6:]], *LINES[2:]]
    with pytest.raises(CanvasError, match="read-only"):
        fill_in_scores(export(tmp_path, lines), [record("ada")], "Nans")


@pytest.mark.parametrize(
    "data", [b"", b"a,b\n1,2\n", "Student,ID\nä,1".encode("latin-1"), b'"' + b"x" * 200_000]
)
def test_fill_in_scores_rejects_unrelated_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "export.csv"
    path.write_bytes(data)
    with pytest.raises(CanvasError, match="export: "):
        fill_in_scores(path, [record("ada")], "Nans")


def test_fill_in_scores_rejects_export_without_our_students(tmp_path: Path) -> None:
    with pytest.raises(CanvasError, match="none of the 1 students"):
        fill_in_scores(export(tmp_path), [record("nobody")], "Nans")
