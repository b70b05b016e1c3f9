"""Enter scores in a gradebook exported from Canvas, so that Canvas can import it again.

Canvas's importer determines the format of the file. See
https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_importer.rb and, for the format
of an export, gradebook_exporter.rb in the same folder. In short:

- The first columns are ``Student`` (or ``LastName`` and ``FirstName``), ``ID``, possibly
  ``SIS User ID``, ``SIS Login ID``, ``Integration ID``, ``Root Account``, and then ``Section``.
- Canvas looks for a student by ``ID`` first.
- The separator is a comma or a semicolon, whichever splits the first three lines into the same
  number of fields.
- A number may have a decimal comma or a decimal point.
- **An empty field deletes the score in Canvas**, and an old score in the file overwrites a newer
  one in Canvas. Canvas changes nothing for students who have no line in the file.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from jaxbits_grader.grade_records import GradeRecord

# Any of these columns can identify a student. We use the one that matches the most students, or the
# first of these if there is a tie.
_KEYS = ("SIS Login ID", "SIS User ID", "ID", "Student")
# These columns describe a student. The file to import keeps them in their original order.
_STUDENT_COLUMNS = {*_KEYS, "LastName", "FirstName", "Integration ID", "Root Account", "Section"}
# This matches names that end in a Canvas id, like those that `lms_import` generates.
_NAME_WITH_ID = re.compile(r".+_(?=\d+\Z)", re.S)
_NUMBERED = re.compile(r"(.*)\s\((\d+)\)\Z", re.S)


class CanvasError(ValueError):
    """Raised if scores cannot be entered in the export. The message says why."""


def fill_in_scores(
    export: Path, records: Iterable[GradeRecord], column: str
) -> tuple[str, list[str]]:
    """Enter our scores in one column of an export.

    Args:
        export: A CSV file exported from Canvas. It has a line of headings, possibly a line that
            says which scores are hidden, a line that begins with ``Points Possible``, and one line
            per student.
        records: The results. They may identify a student by login, SIS id, Canvas id, name in
            Canvas, or a name that ends in the Canvas id, such as ``doejane_4521``.
        column: The assignment's heading in Canvas, such as ``Nans (12345)``. You can omit the
            number.

    Returns:
        The text of the CSV file to import, and a list of the students who are not in the export or
        whose names are ambiguous. The CSV file omits other assignments and students without a
        score, so Canvas keeps the scores that it has for them.

    Raises:
        CanvasError: If the file is not an export from Canvas, has no such column, contains none of
            our students, or has a different number of points for the assignment.
    """
    records = list(records)
    head, rows, separator = _read_export(export)
    place = _find_column(head, rows, column, export)
    _check_points(rows, place, records, column)
    kept = [i for i, h in enumerate(head) if h in _STUDENT_COLUMNS] + [place]
    number = head.index("ID")
    students = [row for row in rows if row[number].strip()]
    candidates = {key: _by_column_value(records, key) for key in _KEYS if key in head}
    best = max(
        candidates,
        key=lambda key: sum(
            _normalize(row[head.index(key)]) in candidates[key] for row in students
        ),
    )
    key, ours = head.index(best), candidates[best]
    times = Counter(_normalize(row[key]) for row in students)
    known = {name: own[0] for name, own in ours.items() if len(own) == times[name] == 1}
    if not known:
        raise CanvasError(
            f"export: none of the {len(records)} students in the results is in {export}; their "
            f"names must match one of its columns {', '.join(_KEYS)}"
        )
    out = io.StringIO()
    table = csv.writer(out, delimiter=separator, lineterminator="\r\n")
    table.writerow([head[i] for i in kept])
    for row in rows:
        if row[number].strip():
            name = _normalize(row[key])
            score = known[name].score if name in known else None
            if score is None:
                continue
            row[place] = f"{score:.10g}"
        table.writerow([row[i] for i in kept])
    unknown = [r.student for name, own in ours.items() if name not in known for r in own]
    return out.getvalue(), sorted(unknown)


def _by_column_value(records: Iterable[GradeRecord], key: str) -> dict[str, list[GradeRecord]]:
    """Group the records by the value that we expect in a column of the Canvas export.

    A value that several records share is ambiguous.
    """
    ours: dict[str, list[GradeRecord]] = defaultdict(list)
    for record in records:
        name = _normalize(record.student)
        ours[_NAME_WITH_ID.sub("", name) if key == "ID" else name].append(record)
    return ours


def _normalize(text: str) -> str:
    """Return a name in Unicode's composed form, because macOS decomposes letters in file names."""
    return unicodedata.normalize("NFC", text.strip())


def _read_export(export: Path) -> tuple[list[str], list[list[str]], str]:
    """Return the headings, the other rows (padded to the same length), and the separator."""
    try:
        with export.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
        separators = (",", ";")
        parsed = {s: list(csv.reader(io.StringIO(text), delimiter=s)) for s in separators}
    except (UnicodeDecodeError, csv.Error) as error:
        raise CanvasError(f"export: {export} is not a CSV file in UTF-8: {error}") from None
    for separator, lines in parsed.items():
        rows = [row for row in lines if row]
        if rows and "ID" in rows[0] and ({"Student", "LastName"} & set(rows[0])):
            head = rows[0]
            filler = [""] * len(head)
            return head, [[*row, *filler][: len(head)] for row in rows[1:]], separator
    raise CanvasError(
        "export: must be a gradebook exported from Canvas, with the columns Student and ID, got "
        f"{export}"
    )


def _check_points(
    rows: list[list[str]], place: int, records: Sequence[GradeRecord], column: str
) -> None:
    """Check that the assignment has the same number of points in Canvas as in the results.

    If the numbers differ, the column may belong to a different assignment.

    Raises:
        CanvasError: If the numbers differ.
    """
    ours = {record.max_score for record in records}
    for row in rows:
        if "Points Possible" in row[0]:
            try:
                theirs = float(row[place].replace(",", "."))
            except ValueError:
                continue
            if ours != {theirs}:
                of = ", ".join(f"{points:g}" for points in sorted(ours))
                raise CanvasError(
                    f"column: {column!r} has {theirs:g} points in Canvas, but the results have "
                    f"{of}; choose a different column, or change the points in Canvas"
                )


def _find_column(head: list[str], rows: list[list[str]], column: str, export: Path) -> int:
    """Return the index of the assignment's column.

    Raises:
        CanvasError: If `column` does not match exactly one assignment, or if the matching column is
            read-only.
    """
    # In Canvas, only assignment headings end in a number.
    own = [h for h in head if h not in _STUDENT_COLUMNS and _NUMBERED.match(h)]
    wanted = [h for h in own if h == column] or [h for h in own if h.rpartition(" (")[0] == column]
    if len(wanted) != 1:
        raise CanvasError(
            f"column: must match one assignment in {export} ({', '.join(own) or 'none'}); "
            f"{column!r} matches {len(wanted)}"
        )
    place = head.index(wanted[0])
    if any("read only" in row[place] for row in rows if "Points Possible" in row[0]):
        raise CanvasError(f"column: {column!r} is read-only in Canvas")
    return place
