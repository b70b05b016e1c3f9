"""Notebooks damaged by other programs or by hand: what can be read is graded."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import nbformat

from corpus.expected import FINE, Content, Submission
from corpus.submission_builder import SubmissionBuilder, by_id, graded_cells

# Either these are repaired, or a note says so.
MENDED_OR_NOT = FINE | {"unreadable"}


def _edited(builder: SubmissionBuilder, edit: Callable[[dict[str, Any]], object]) -> bytes:
    notebook = json.loads(json.dumps(builder.right()))
    edit(notebook)
    return json.dumps(notebook).encode()


def _each(change: Callable[[int, dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
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


def _lists(_: int, cell: dict[str, Any]) -> None:
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


def _latin(builder: SubmissionBuilder) -> bytes:
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
        "version-3": ("Saved by IPython 2.", _version_3(builder)),
        "version-4-0": ("Saved before cells had ids.", _edited(builder, _old_ids)),
        "minor-99": (
            "A minor version to come.",
            _edited(builder, lambda n: n.update(nbformat_minor=99)),
        ),
        "no-minor": (
            "Without a minor version.",
            _edited(builder, lambda n: n.pop("nbformat_minor")),
        ),
        "ids-alike": ("All ids alike.", _edited(builder, _each(lambda i, c: c.update(id="same")))),
        "ids-odd": (
            "Ids that are none.",
            _edited(
                builder, _each(lambda i, c: c.update(id=[i, None, "a b", "ü" * 90, ""][i % 5]))
            ),
        ),
        "sources-in-lines": ("Sources as lists of lines.", _edited(builder, _each(_lists))),
        "odd-outputs": ("Outputs that are none.", _edited(builder, _each(_odd_outputs))),
        "counts-odd": (
            "Counts that are none.",
            _edited(
                builder, _each(lambda i, c: c.update(execution_count=["*", -1, 1.5, {}][i % 4]))
            ),
        ),
        "unknown-keys": (
            "Keys of other programs.",
            _edited(builder, _each(lambda i, c: c.update(collapsed=True, prompt_number=i))),
        ),
        "without-outputs": (
            "Code cells without outputs.",
            _edited(builder, _each(lambda i, c: c.pop("outputs", None))),
        ),
        "without-metadata": ("Without metadata.", _edited(builder, lambda n: n.pop("metadata"))),
        "not-a-number": (
            "NaN in its metadata.",
            _edited(builder, lambda n: n["metadata"].update(odd=[float("nan"), float("inf")])),
        ),
        "byte-order-mark": ("With a byte order mark.", b"\xef\xbb\xbf" + right.encode()),
        "carriage-returns": ("With Windows's line ends.", right.replace("\n", "\r\n").encode()),
        "returns-in-cells": (
            "With Windows's line ends in its cells.",
            _edited(
                builder, _each(lambda i, c: c.update(source=c["source"].replace("\n", "\r\n")))
            ),
        ),
        "nul-in-cell": ("A NUL in a cell.", _edited(builder, _with_cell({"source": "x = '\0'"}))),
    }


def _doubtful(builder: SubmissionBuilder) -> dict[str, tuple[str, Content]]:
    right = json.dumps(builder.right(), ensure_ascii=False)
    count = _edited(builder, lambda n: n["cells"][1].update(execution_count=987654321))
    nested = lambda n: n["metadata"].update(deep=_nested(600))  # noqa: E731
    return {
        "version-5": ("A version to come.", _edited(builder, lambda n: n.update(nbformat=5))),
        "latin-1": ("In Latin-1.", _latin(builder)),
        "utf-16": ("In UTF-16.", right.encode("utf-16")),
        "nested-metadata": ("600 levels in its metadata.", _edited(builder, nested)),
        "huge-number": ("A number of 6000 digits.", count.replace(b"987654321", b"9" * 6000)),
        "surrogate": (
            "Half a character.",
            _edited(builder, _with_cell({"source": "x = '\ud800'"})),
        ),
        "large": ("60 MB of stored outputs.", _large(builder)),
        "cell-without-source": ("A cell without a source.", _edited(builder, _with_cell({}))),
        "source-odd": ("A source of numbers.", _edited(builder, _with_cell({"source": [1, None]}))),
        "cell-of-no-kind": (
            "A cell of an unknown kind.",
            _edited(builder, _with_cell({"cell_type": "heading", "source": "x", "level": 1})),
        ),
        "cells-odd": (
            "Cells that are none.",
            _edited(builder, lambda n: n["cells"].extend([None, "cell", 7, []])),
        ),
        "key-twice": (
            "Two lists of cells in one notebook.",
            b'{"cells": [],' + right.encode().lstrip()[1:],
        ),
    }


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    for name, (what, content) in _files(builder).items():
        core = name in ("version-3", "version-4-0", "byte-order-mark", "odd-outputs")
        yield Submission(name, "damaged", what, content, FINE, builder.full, core=core)
    for name, (what, content) in _doubtful(builder).items():
        core = name in ("latin-1", "large")
        yield Submission(name, "damaged", what, content, MENDED_OR_NOT, builder.full, core=core)
    # Both can be read but contain no answer, so a note must say so.
    empty = builder.right()
    empty.cells = []
    other = builder.right()
    for number, cell in enumerate(other.cells):
        cell.id, cell.metadata, cell.source = f"other-{number}", {}, f"x{number} = {number}"
    for name, notebook in (("no-cells", empty), ("another-notebook", other)):
        what = "A notebook without any cell of the assignment."
        statuses = frozenset({"flagged", "unreadable"})
        yield Submission(name, "damaged", what, notebook, statuses, 0.0, (r"\S",), core=True)
    text = builder.right()
    cell = by_id(text, builder.tasks[0].id)
    cell.cell_type = "raw"
    for key in ("outputs", "execution_count"):
        cell.pop(key, None)
    score = (builder.full - builder.tasks[0].total, builder.full)
    yield Submission(
        "answer-in-a-raw-cell", "damaged", "An answer that is no code.", text, FINE, score
    )
