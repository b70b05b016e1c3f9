"""Notebooks whose tests or metadata are lost, replaced, or duplicated."""

from __future__ import annotations

import json
from collections.abc import Iterator

import nbformat
from jaxbits_grader.authoring.cell_markers import stub_source
from jaxbits_grader.notebook import nbgrader_metadata
from nbformat import NotebookNode

from corpus.expected import GRADED_OR_FLAGGED, Submission
from corpus.submission_builder import SubmissionBuilder, cell_by_grade_id, graded_cells, pasted_copy

FLAGGED = frozenset({"flagged"})
ANY_NOTE = (r"\S",)


def _without(notebook: NotebookNode, *ids: str) -> NotebookNode:
    notebook.cells = [c for c in notebook.cells if nbgrader_metadata(c).get("grade_id") not in ids]
    return notebook


def _strip(notebook: NotebookNode, *, metadata: bool, ids: bool) -> bytes:
    for number, cell in enumerate(notebook.cells):
        if metadata:
            cell.metadata = nbformat.from_dict({})
        if ids:
            cell["id"] = f"{number:08x}"
    return json.dumps(notebook).encode()


def _retyped(builder: SubmissionBuilder) -> NotebookNode:
    cells = [
        nbformat.v4.new_code_cell(cell.source, id=f"mine-{number:02}")
        for number, cell in enumerate(builder.right().cells)
        if cell.cell_type == "code"
    ]
    return nbformat.v4.new_notebook(cells=cells)


def _with_losses(builder: SubmissionBuilder) -> Iterator[tuple[str, str, object, object]]:
    all_tests = [cell.id for cell in graded_cells(builder.right())]
    given = [
        c.id
        for c in builder.right().cells
        if nbgrader_metadata(c).get("locked") and c.id not in all_tests
    ]
    full, any_score = builder.full_score, (0.0, builder.full_score)
    yield "tests-deleted", "Deletes all tests.", _without(builder.right(), *all_tests), full
    yield "one-test-deleted", "Deletes one test.", _without(builder.right(), all_tests[0]), full
    yield (
        "given-deleted",
        "Deletes the imports and all other given cells.",
        _without(builder.right(), *given),
        full,
    )
    stripped = _strip(builder.right(), metadata=True, ids=False)
    yield "metadata-emptied", "Loses all metadata but keeps the ids.", stripped, full
    # Without metadata or ids, the score depends on which cells are recognized.
    stripped = _strip(builder.right(), metadata=True, ids=True)
    yield "metadata-and-ids-lost", "Loses all metadata and ids.", stripped, any_score
    yield "retyped", "Is typed into a new notebook.", _retyped(builder), any_score
    notebook = builder.right()
    index = [cell.id for cell in notebook.cells].index(builder.tasks[0].id)
    notebook.cells[index] = nbformat.v4.new_code_cell(notebook.cells[index].source, id="my-own")
    yield (
        "answer-in-own-cell",
        "Moves one answer into a new cell.",
        notebook,
        any_score,
    )
    notebook = builder.right()
    for cell in notebook.cells:
        if nbgrader_metadata(cell).get("locked"):
            cell.source = "# changed\n" + cell.source.replace("import jax\n", "")
    yield "given-changed", "Changes all given cells.", notebook, full
    odd = builder.right()
    for number, cell in enumerate(odd.cells):
        if nbgrader_metadata(cell):
            cell.metadata["nbgrader"] = [None, [], "marks", 7, {"grade_id": 5}][number % 5]
    yield "metadata-invalid", "Has invalid nbgrader metadata.", odd, full
    notebook = builder.right()
    for cell in graded_cells(notebook):
        cell.cell_type = "markdown"
        cell.pop("outputs"), cell.pop("execution_count")
    yield "tests-as-text", "Turns the test cells into text.", notebook, full


def _with_edits(builder: SubmissionBuilder) -> Iterator[tuple[str, str, object, object]]:
    full = builder.full_score
    stripped = _strip(builder.right(), metadata=False, ids=True)
    yield "ids-new", "Loses the ids but keeps the metadata.", stripped, full
    notebook = builder.right()
    for cell in notebook.cells:
        if nbgrader_metadata(cell):
            cell.metadata.nbgrader.schema_version = 1
    yield (
        "metadata-of-old-nbgrader",
        "Has metadata in the format of an old nbgrader.",
        notebook,
        full,
    )
    notebook = builder.right()
    notebook.cells = [c for c in notebook.cells if c.cell_type == "code"]
    yield "text-deleted", "Deletes all text cells.", notebook, full
    for answers, student in (("right", "points-raised"), ("wrong", "points-raised-wrong-answers")):
        notebook = getattr(builder, answers)()
        for cell in graded_cells(notebook):
            cell.metadata.nbgrader.points = 1000
        for task in builder.tasks:
            cell_by_grade_id(notebook, task.id).metadata.nbgrader.update(
                grade=True, points=500, locked=False
            )
        yield (
            student,
            "Claims 1,000 points for each test.",
            notebook,
            full if answers == "right" else 0.0,
        )
        notebook = getattr(builder, answers)()
        for cell in graded_cells(notebook):
            cell.source = "assert True"
        student = "tests-replaced" if answers == "right" else "tests-replaced-wrong-answers"
        yield (
            student,
            "Replaces the tests with assert True.",
            notebook,
            full if answers == "right" else 0.0,
        )
        notebook = getattr(builder, answers)()
        for number in range(5):
            copied = pasted_copy(graded_cells(notebook)[0], f"{builder.tasks[0].id}-mine-{number}")
            copied["id"], copied.source = f"mine-{number}", "assert True"
            copied.metadata.nbgrader.points = 100
            notebook.cells.append(copied)
        student = "tests-added" if answers == "right" else "tests-added-wrong-answers"
        yield (
            student,
            "Adds its own tests with points.",
            notebook,
            full if answers == "right" else 0.0,
        )
    notebook = builder.right()
    for task in builder.tasks:
        cell_by_grade_id(notebook, task.id).metadata.nbgrader.update(solution=False, locked=True)
    yield "answers-locked", "Marks its answers as locked cells.", notebook, full
    # A pasted cell has the original's metadata but a different id.
    for student, summary, ids in (
        ("answers-twice", "Contains each answer twice.", [task.id for task in builder.tasks]),
        (
            "tests-twice",
            "Contains each test twice.",
            [cell.id for cell in graded_cells(builder.right())],
        ),
        ("given-twice", "Contains the imports twice.", ["imports"]),
    ):
        notebook = builder.right()
        notebook.cells = [
            copy for c in notebook.cells for copy in ([c, pasted_copy(c)] if c.id in ids else [c])
        ]
        yield student, summary, notebook, full
    notebook = builder.right()
    notebook.cells += [pasted_copy(cell) for cell in notebook.cells]
    yield "all-twice", "Contains the whole notebook twice.", notebook, full
    notebook = builder.right()
    notebook.cells += [json.loads(json.dumps(cell)) for cell in notebook.cells]
    yield (
        "all-twice-same-ids",
        "Contains the whole notebook twice, with the same ids.",
        notebook,
        full,
    )
    task = builder.tasks[0]
    for student, order in (("stub-then-answer", 1), ("answer-then-stub", -1)):
        notebook = builder.right()
        index = [cell.id for cell in notebook.cells].index(task.id)
        stub = pasted_copy(notebook.cells[index])
        stub.source = stub_source(builder.assignment.cell(task.id).source)
        notebook.cells[index : index + 1] = [stub, notebook.cells[index]][::order]
        yield student, "Contains an answer and its stub.", notebook, (full - task.total, full)
    notebook = builder.right()
    notebook.cells.reverse()
    yield "cells-reversed", "Has its cells in reverse order.", notebook, (0.0, full)
    if len(builder.tasks) > 1:
        notebook = builder.right()
        one, other = (cell_by_grade_id(notebook, task.id) for task in builder.tasks[:2])
        one.metadata, other.metadata = other.metadata, one.metadata
        yield (
            "metadata-swapped",
            "Swaps the metadata of two answers.",
            notebook,
            (0.0, full),
        )


DOUBLED = ("-twice", "-twice-same-ids", "answer-then-stub", "stub-then-answer")


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    for name, summary, content, score in _with_losses(builder):
        statuses = (
            FLAGGED
            if name not in ("metadata-and-ids-lost", "retyped")
            else FLAGGED | {"unreadable"}
        )
        core = name in (
            "tests-deleted",
            "metadata-emptied",
            "metadata-and-ids-lost",
            "tests-as-text",
        )
        yield Submission(name, "tests-lost", summary, content, statuses, score, ANY_NOTE, core=core)
    for name, summary, content, score in _with_edits(builder):
        family = "duplicates" if name.endswith(DOUBLED) else "tests-replaced"
        core = name in (
            "all-twice",
            "answers-twice",
            "tests-replaced",
            "points-raised",
            "tests-added",
        )
        core |= name in ("tests-replaced-wrong-answers", "ids-new")
        yield Submission(name, family, summary, content, GRADED_OR_FLAGGED, score, core=core)
