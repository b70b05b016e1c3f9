"""Notebooks that were damaged by other programs or by hand and are graded if readable."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import nbformat

from corpus.expected import GRADED_OR_FLAGGED, Content, Submission
from corpus.submission_builder import SubmissionBuilder, cell_by_grade_id, graded_cells

# The grader may either repair these notebooks or report that it cannot read them.
REPAIRED_OR_UNREADABLE = GRADED_OR_FLAGGED | {"unreadable"}


def _edited(builder: SubmissionBuilder, edit: Callable[[dict[str, Any]], object]) -> bytes:
    notebook = json.loads(json.dumps(builder.right()))
    edit(notebook)
    return json.dumps(notebook).encode()


def _edit_each_cell(
    change: Callable[[int, dict[str, Any]], object],
) -> Callable[[dict[str, Any]], object]:
    return lambda notebook: [change(i, cell) for i, cell in enumerate(notebook["cells"])]


def _old_ids(notebook: dict[str, Any]) -> None:
    notebook["nbformat_minor"] = 0
    for cell in notebook["cells"]:
        del cell["id"]


def _version_3(builder: SubmissionBuilder) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = nbformat.convert(copy.deepcopy(builder.right()), 3)
        return nbformat.writes(old, version=3).encode()


def _split_source(_: int, cell: dict[str, Any]) -> None:
    cell["source"] = cell["source"].splitlines(keepends=True)


def _odd_outputs(number: int, cell: dict[str, Any]) -> None:
    odd: list[Any] = [
        [{"output_type": "bogus"}],
        [{"output_type": "stream"}],
        [{"output_type": "display_data", "data": None, "metadata": 3}],
        [{"output_type": "error", "ename": 1, "evalue": {}, "traceback": "t"}],
        None,
        "none",
        [None, 7],
    ]
    if cell["cell_type"] == "code":
        cell["outputs"] = odd[number % len(odd)]


def _latin_1(builder: SubmissionBuilder) -> bytes:
    notebook = builder.insert(builder.right(), "# café")
    return json.dumps(notebook, ensure_ascii=False).encode("latin-1", "replace")


def _large(builder: SubmissionBuilder) -> bytes:
    notebook = builder.right()
    output = nbformat.v4.new_output("stream", name="stdout", text="x" * 60_000_000)
    graded_cells(notebook)[0].outputs = [output]
    return json.dumps(notebook).encode()


def _with_cell(cell: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    base = {"cell_type": "code", "id": "odd-one", "metadata": {}, "outputs": []}
    return lambda notebook: notebook["cells"].append({**base, "execution_count": None, **cell})


def _nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"in": found}
    return found


def _files(builder: SubmissionBuilder) -> dict[str, tuple[str, Content]]:
    right = json.dumps(builder.right(), indent=1, ensure_ascii=False)
    return {
        "version-3": ("Was saved by IPython 2.", _version_3(builder)),
        "version-4-0": ("Was saved before cells had ids.", _edited(builder, _old_ids)),
        "minor-99": (
            "Has a future minor version.",
            _edited(builder, lambda n: n.update(nbformat_minor=99)),
        ),
        "no-minor": (
            "Has no minor version.",
            _edited(builder, lambda n: n.pop("nbformat_minor")),
        ),
        "ids-identical": (
            "Has the same id in every cell.",
            _edited(builder, _edit_each_cell(lambda i, c: c.update(id="same"))),
        ),
        "ids-invalid": (
            "Has invalid ids.",
            _edited(
                builder,
                _edit_each_cell(lambda i, c: c.update(id=[i, None, "a b", "ü" * 90, ""][i % 5])),
            ),
        ),
        "sources-in-lines": (
            "Stores sources as lists of lines.",
            _edited(builder, _edit_each_cell(_split_source)),
        ),
        "outputs-invalid": (
            "Has invalid outputs.",
            _edited(builder, _edit_each_cell(_odd_outputs)),
        ),
        "execution-counts-invalid": (
            "Has invalid execution counts.",
            _edited(
                builder,
                _edit_each_cell(lambda i, c: c.update(execution_count=["*", -1, 1.5, {}][i % 4])),
            ),
        ),
        "unknown-keys": (
            "Has keys that other programs added.",
            _edited(
                builder, _edit_each_cell(lambda i, c: c.update(collapsed=True, prompt_number=i))
            ),
        ),
        "without-outputs": (
            "Has code cells without outputs.",
            _edited(builder, _edit_each_cell(lambda i, c: c.pop("outputs", None))),
        ),
        "without-metadata": ("Has no metadata.", _edited(builder, lambda n: n.pop("metadata"))),
        "not-a-number": (
            "Has NaN in its metadata.",
            _edited(builder, lambda n: n["metadata"].update(odd=[float("nan"), float("inf")])),
        ),
        "byte-order-mark": ("Starts with a byte order mark.", b"\xef\xbb\xbf" + right.encode()),
        "carriage-returns": ("Has Windows line endings.", right.replace("\n", "\r\n").encode()),
        "returns-in-cells": (
            "Has Windows line endings in its cells.",
            _edited(
                builder,
                _edit_each_cell(lambda i, c: c.update(source=c["source"].replace("\n", "\r\n"))),
            ),
        ),
        "nul-in-cell": (
            "Has a null character in a cell.",
            _edited(builder, _with_cell({"source": "x = '\0'"})),
        ),
    }


def _possibly_readable(builder: SubmissionBuilder) -> dict[str, tuple[str, Content]]:
    right = json.dumps(builder.right(), ensure_ascii=False)
    count = _edited(builder, lambda n: n["cells"][1].update(execution_count=987654321))
    nested = lambda n: n["metadata"].update(deep=_nested(600))  # noqa: E731
    return {
        "version-5": ("Has a future version.", _edited(builder, lambda n: n.update(nbformat=5))),
        "latin-1": ("Is encoded in Latin-1.", _latin_1(builder)),
        "utf-16": ("Is encoded in UTF-16.", right.encode("utf-16")),
        "nested-metadata": (
            "Has metadata that is nested 600 levels deep.",
            _edited(builder, nested),
        ),
        "huge-number": (
            "Contains a number with 6,000 digits.",
            count.replace(b"987654321", b"9" * 6000),
        ),
        "lone-surrogate": (
            "Contains a lone surrogate.",
            _edited(builder, _with_cell({"source": "x = '\ud800'"})),
        ),
        "large": ("Stores 60 MB of outputs.", _large(builder)),
        "cell-without-source": ("Has a cell without a source.", _edited(builder, _with_cell({}))),
        "source-without-strings": (
            "Has a source that is a list without strings.",
            _edited(builder, _with_cell({"source": [1, None]})),
        ),
        "cell-of-unknown-type": (
            "Has a cell of an unknown type.",
            _edited(builder, _with_cell({"cell_type": "heading", "source": "x", "level": 1})),
        ),
        "cells-invalid": (
            "Has invalid cells.",
            _edited(builder, lambda n: n["cells"].extend([None, "cell", 7, []])),
        ),
        "duplicate-key": (
            "Has two lists of cells.",
            b'{"cells": [],' + right.encode().lstrip()[1:],
        ),
    }


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    for name, (summary, content) in _files(builder).items():
        core = name in ("version-3", "version-4-0", "byte-order-mark", "outputs-invalid")
        yield Submission(
            name, "damaged", summary, content, GRADED_OR_FLAGGED, builder.full_score, core=core
        )
    for name, (summary, content) in _possibly_readable(builder).items():
        core = name in ("latin-1", "large")
        yield Submission(
            name, "damaged", summary, content, REPAIRED_OR_UNREADABLE, builder.full_score, core=core
        )
    # Both notebooks can be read but contain no answer, and a note must say so.
    empty = builder.right()
    empty.cells = []
    other = builder.right()
    for number, cell in enumerate(other.cells):
        cell.id, cell.metadata, cell.source = f"other-{number}", {}, f"x{number} = {number}"
    for name, notebook in (("no-cells", empty), ("another-notebook", other)):
        summary = "Contains no cell of the assignment."
        statuses = frozenset({"flagged", "unreadable"})
        yield Submission(name, "damaged", summary, notebook, statuses, 0.0, (r"\S",), core=True)
    text = builder.right()
    cell = cell_by_grade_id(text, builder.tasks[0].id)
    cell.cell_type = "raw"
    for key in ("outputs", "execution_count"):
        cell.pop(key, None)
    score = (builder.full_score - builder.tasks[0].total, builder.full_score)
    yield Submission(
        "answer-in-a-raw-cell",
        "damaged",
        "Has an answer in a raw cell.",
        text,
        GRADED_OR_FLAGGED,
        score,
    )
