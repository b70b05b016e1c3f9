"""Notebooks that other programs, or none, have written: what can be read is graded."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import nbformat

from corpus.expected import FINE, Content, Submission
from corpus.submission_builder import Desk, by_id, graded_cells

# What cannot be read as it should be: either it is mended, or someone is told.
MENDED_OR_NOT = FINE | {"unreadable"}


def _edited(desk: Desk, edit: Callable[[dict[str, Any]], object]) -> bytes:
    notebook = json.loads(json.dumps(desk.right()))
    edit(notebook)
    return json.dumps(notebook).encode()


def _each(change: Callable[[int, dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda notebook: [change(i, cell) for i, cell in enumerate(notebook["cells"])]


def _old_ids(notebook: dict[str, Any]) -> None:
    notebook["nbformat_minor"] = 0
    for cell in notebook["cells"]:
        del cell["id"]


def _version_3(desk: Desk) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = nbformat.convert(copy.deepcopy(desk.right()), 3)
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


def _latin(desk: Desk) -> bytes:
    notebook = desk.insert(desk.right(), "# café")
    return json.dumps(notebook, ensure_ascii=False).encode("latin-1", "replace")


def _large(desk: Desk) -> bytes:
    notebook = desk.right()
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


def _files(desk: Desk) -> dict[str, tuple[str, Content]]:
    right = json.dumps(desk.right(), indent=1, ensure_ascii=False)
    return {
        "version-3": ("Saved by IPython 2.", _version_3(desk)),
        "version-4-0": ("Saved before cells had ids.", _edited(desk, _old_ids)),
        "minor-99": (
            "A minor version to come.",
            _edited(desk, lambda n: n.update(nbformat_minor=99)),
        ),
        "no-minor": ("Without a minor version.", _edited(desk, lambda n: n.pop("nbformat_minor"))),
        "ids-alike": ("All ids alike.", _edited(desk, _each(lambda i, c: c.update(id="same")))),
        "ids-odd": (
            "Ids that are none.",
            _edited(desk, _each(lambda i, c: c.update(id=[i, None, "a b", "ü" * 90, ""][i % 5]))),
        ),
        "sources-in-lines": ("Sources as lists of lines.", _edited(desk, _each(_lists))),
        "odd-outputs": ("Outputs that are none.", _edited(desk, _each(_odd_outputs))),
        "counts-odd": (
            "Counts that are none.",
            _edited(desk, _each(lambda i, c: c.update(execution_count=["*", -1, 1.5, {}][i % 4]))),
        ),
        "unknown-keys": (
            "Keys of other programs.",
            _edited(desk, _each(lambda i, c: c.update(collapsed=True, prompt_number=i))),
        ),
        "without-outputs": (
            "Code cells without outputs.",
            _edited(desk, _each(lambda i, c: c.pop("outputs", None))),
        ),
        "without-metadata": ("Without metadata.", _edited(desk, lambda n: n.pop("metadata"))),
        "not-a-number": (
            "NaN in its metadata.",
            _edited(desk, lambda n: n["metadata"].update(odd=[float("nan"), float("inf")])),
        ),
        "byte-order-mark": ("With a byte order mark.", b"\xef\xbb\xbf" + right.encode()),
        "carriage-returns": ("With Windows's line ends.", right.replace("\n", "\r\n").encode()),
        "returns-in-cells": (
            "With Windows's line ends in its cells.",
            _edited(desk, _each(lambda i, c: c.update(source=c["source"].replace("\n", "\r\n")))),
        ),
        "nul-in-cell": ("A NUL in a cell.", _edited(desk, _with_cell({"source": "x = '\0'"}))),
    }


def _doubtful(desk: Desk) -> dict[str, tuple[str, Content]]:
    right = json.dumps(desk.right(), ensure_ascii=False)
    count = _edited(desk, lambda n: n["cells"][1].update(execution_count=987654321))
    nested = lambda n: n["metadata"].update(deep=_nested(600))  # noqa: E731
    return {
        "version-5": ("A version to come.", _edited(desk, lambda n: n.update(nbformat=5))),
        "latin-1": ("In Latin-1.", _latin(desk)),
        "utf-16": ("In UTF-16.", right.encode("utf-16")),
        "nested-metadata": ("600 levels in its metadata.", _edited(desk, nested)),
        "huge-number": ("A number of 6000 digits.", count.replace(b"987654321", b"9" * 6000)),
        "surrogate": ("Half a character.", _edited(desk, _with_cell({"source": "x = '\ud800'"}))),
        "large": ("60 MB of stored outputs.", _large(desk)),
        "cell-without-source": ("A cell without a source.", _edited(desk, _with_cell({}))),
        "source-odd": ("A source of numbers.", _edited(desk, _with_cell({"source": [1, None]}))),
        "cell-of-no-kind": (
            "A cell of an unknown kind.",
            _edited(desk, _with_cell({"cell_type": "heading", "source": "x", "level": 1})),
        ),
        "cells-odd": (
            "Cells that are none.",
            _edited(desk, lambda n: n["cells"].extend([None, "cell", 7, []])),
        ),
        "key-twice": (
            "Two lists of cells in one notebook.",
            b'{"cells": [],' + right.encode().lstrip()[1:],
        ),
    }


def submissions(desk: Desk) -> Iterator[Submission]:
    """Make them."""
    for name, (what, content) in _files(desk).items():
        core = name in ("version-3", "version-4-0", "byte-order-mark", "odd-outputs")
        yield Submission(name, "damaged", what, content, FINE, desk.full, core=core)
    for name, (what, content) in _doubtful(desk).items():
        core = name in ("latin-1", "large")
        yield Submission(name, "damaged", what, content, MENDED_OR_NOT, desk.full, core=core)
    # Both can be read and hold no answer; a person should hear of it.
    empty = desk.right()
    empty.cells = []
    other = desk.right()
    for number, cell in enumerate(other.cells):
        cell.id, cell.metadata, cell.source = f"other-{number}", {}, f"x{number} = {number}"
    for name, notebook in (("no-cells", empty), ("another-notebook", other)):
        what = "A notebook without any cell of the assignment."
        statuses = frozenset({"flagged", "unreadable"})
        yield Submission(name, "damaged", what, notebook, statuses, 0.0, (r"\S",), core=True)
    text = desk.right()
    cell = by_id(text, desk.tasks[0].id)
    cell.cell_type = "raw"
    for key in ("outputs", "execution_count"):
        cell.pop(key, None)
    score = (desk.full - desk.tasks[0].total, desk.full)
    yield Submission(
        "answer-in-a-raw-cell", "damaged", "An answer that is no code.", text, FINE, score
    )
