"""Scores for Canvas: its own gradebook export, with a column filled in.

What Canvas makes of the file stands in its importer,
https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_importer.rb: the first columns
are ``Student`` (or ``LastName``, ``FirstName``), ``ID``, perhaps ``SIS User ID``,
``SIS Login ID``, ``Integration ID``, ``Root Account``, then ``Section``; a student is known by
``ID`` first; separators are commas or semicolons, whichever give the first three lines the same
number of fields; a number may have a decimal comma or point. **An empty field deletes the score
that Canvas has**, and an old score overwrites a newer one; a student without a line keeps
everything. What an export looks like stands in ``gradebook_exporter.rb`` beside it.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from jaxbits_grader.reporting.grade_records import Record

# How Canvas knows a student; the first of these that names most of ours is taken.
_KEYS = ("SIS Login ID", "SIS User ID", "ID", "Student")
# The columns that say who a student is; they stay, in their order.
_WHO = {*_KEYS, "LastName", "FirstName", "Integration ID", "Root Account", "Section"}
_COLLECTED = re.compile(r".+_(?=\d+\Z)", re.S)
_NUMBERED = re.compile(r"(.*)\s\((\d+)\)\Z", re.S)


class CanvasError(ValueError):
    """An export that cannot be filled in; the message says why."""


def filled(export: Path, records: Iterable[Record], column: str) -> tuple[str, list[str]]:
    """The export with our scores in one column.

    Args:
        export: a CSV that Canvas exported: a line of headings, perhaps a line that says which
            scores are hidden, one that begins with ``Points Possible``, then a line for each
            student.
        records: the results. A student is found by login, SIS id, Canvas id or name, and by a
            Canvas id behind a name, ``doejane_4521``, as `lms_import` writes it.
        column: the heading of the assignment, as Canvas has it: ``Nans (12345)``; its name without
            the number will do.

    Returns:
        The CSV, with no other assignment's column in it and no line of a student without a score:
        whatever Canvas has for them stays. And the students of ours that Canvas does not know, or
        knows more than once.

    Raises:
        CanvasError: when the file is no export, has no such column, has none of our students, or
            has another number of points for the assignment.
    """
    records = list(records)
    head, rows, separator = _read(export)
    place = _column(head, rows, column, export)
    _same_points(rows, place, records, column)
    kept = [i for i, h in enumerate(head) if h in _WHO] + [place]
    number = head.index("ID")
    students = [row for row in rows if row[number].strip()]
    called = {key: _called(records, key) for key in _KEYS if key in head}
    best = max(
        called, key=lambda key: sum(_name(row[head.index(key)]) in called[key] for row in students)
    )
    key, ours = head.index(best), called[best]
    times = Counter(_name(row[key]) for row in students)
    known = {name: own[0] for name, own in ours.items() if len(own) == times[name] == 1}
    if not known:
        raise CanvasError(
            f"export: none of the {len(records)} students of the results is in {export}; "
            f"they should be called as in one of its columns {', '.join(_KEYS)}"
        )
    out = io.StringIO()
    table = csv.writer(out, delimiter=separator, lineterminator="\r\n")
    table.writerow([head[i] for i in kept])
    for row in rows:
        if row[number].strip():
            name = _name(row[key])
            score = known[name].score if name in known else None
            if score is None:
                continue
            row[place] = f"{score:.10g}"
        table.writerow([row[i] for i in kept])
    unknown = [r.student for name, own in ours.items() if name not in known for r in own]
    return out.getvalue(), sorted(unknown)


def _called(records: Iterable[Record], key: str) -> dict[str, list[Record]]:
    """The records by what Canvas would have in a column; more than one is nobody's for sure."""
    ours: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        name = _name(record.student)
        ours[_COLLECTED.sub("", name) if key == "ID" else name].append(record)
    return ours


def _name(text: str) -> str:
    """A student as Canvas and the file system may both write them: macOS takes letters apart."""
    return unicodedata.normalize("NFC", text.strip())


def _read(export: Path) -> tuple[list[str], list[list[str]], str]:
    """The headings, the other lines, all of one length, and what separates the fields."""
    try:
        with export.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
        separators = (",", ";")
        read = {s: list(csv.reader(io.StringIO(text), delimiter=s)) for s in separators}
    except (UnicodeDecodeError, csv.Error) as error:
        raise CanvasError(f"export: {export} is no CSV file in UTF-8: {error}") from None
    for separator, lines in read.items():
        rows = [row for row in lines if row]
        if rows and "ID" in rows[0] and ({"Student", "LastName"} & set(rows[0])):
            head = rows[0]
            filler = [""] * len(head)
            return head, [[*row, *filler][: len(head)] for row in rows[1:]], separator
    raise CanvasError(
        f"export: {export} is no gradebook exported from Canvas: it should have "
        "the columns Student and ID"
    )


def _same_points(rows: list[list[str]], place: int, records: Sequence[Record], column: str) -> None:
    """A column of other points is another assignment's, or Canvas has to be told of the change."""
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
                    f"column: {column!r} is for {theirs:g} points in Canvas, and the results are "
                    f"for {of}: is it this assignment's? Its points can be set in Canvas"
                )


def _column(head: list[str], rows: list[list[str]], column: str, export: Path) -> int:
    """Where the assignment's scores are. Canvas gives no other column a number."""
    own = [h for h in head if h not in _WHO and _NUMBERED.match(h)]
    wanted = [h for h in own if h == column] or [h for h in own if h.rpartition(" (")[0] == column]
    if len(wanted) != 1:
        raise CanvasError(
            f"column: {export} has {len(wanted)} columns called {column!r}; its "
            f"assignments are: {', '.join(own) or 'none'}"
        )
    place = head.index(wanted[0])
    if any("read only" in row[place] for row in rows if "Points Possible" in row[0]):
        raise CanvasError(f"column: Canvas takes no scores in {column!r}, it is read only")
    return place
