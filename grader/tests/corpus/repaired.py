"""Notebooks whose tests or metadata are lost, replaced, or duplicated."""

from __future__ import annotations

import json
from collections.abc import Iterator

import nbformat
from jaxbits_grader.authoring.cell_markers import stub_source
from jaxbits_grader.notebook import nbgrader_metadata
from nbformat import NotebookNode

from corpus.expected import FINE, Submission
from corpus.submission_builder import SubmissionBuilder, by_id, graded_cells, twice

FLAGGED = frozenset({"flagged"})
WHY = (r"\S",)


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


def _lost(builder: SubmissionBuilder) -> Iterator[tuple[str, str, object, object]]:
    all_tests = [cell.id for cell in graded_cells(builder.right())]
    given = [
        c.id
        for c in builder.right().cells
        if nbgrader_metadata(c).get("locked") and c.id not in all_tests
    ]
    full, any_score = builder.full, (0.0, builder.full)
    yield "tests-deleted", "All tests deleted.", _without(builder.right(), *all_tests), full
    yield "one-test-deleted", "A test deleted.", _without(builder.right(), all_tests[0]), full
    yield (
        "given-deleted",
        "The imports and all that is given deleted.",
        _without(builder.right(), *given),
        full,
    )
    stripped = _strip(builder.right(), metadata=True, ids=False)
    yield "metadata-emptied", "All metadata lost, ids kept.", stripped, full
    # Without metadata and ids, the score depends on which cells are recognized.
    stripped = _strip(builder.right(), metadata=True, ids=True)
    yield "all-marks-emptied", "Metadata and ids lost.", stripped, any_score
    yield "retyped", "Typed into a new notebook.", _retyped(builder), any_score
    notebook = builder.right()
    index = [cell.id for cell in notebook.cells].index(builder.tasks[0].id)
    notebook.cells[index] = nbformat.v4.new_code_cell(notebook.cells[index].source, id="my-own")
    yield (
        "answer-in-own-cell",
        "An answer cell deleted, its text in a new one.",
        notebook,
        any_score,
    )
    notebook = builder.right()
    for cell in notebook.cells:
        if nbgrader_metadata(cell).get("locked"):
            cell.source = "# changed\n" + cell.source.replace("import jax\n", "")
    yield "given-changed", "All given cells changed.", notebook, full
    odd = builder.right()
    for number, cell in enumerate(odd.cells):
        if nbgrader_metadata(cell):
            cell.metadata["nbgrader"] = [None, [], "marks", 7, {"grade_id": 5}][number % 5]
    yield "marks-odd", "Marks that are none.", odd, full
    notebook = builder.right()
    for cell in graded_cells(notebook):
        cell.cell_type = "markdown"
        cell.pop("outputs"), cell.pop("execution_count")
    yield "tests-as-text", "The test cells turned into text.", notebook, full


def _kept(builder: SubmissionBuilder) -> Iterator[tuple[str, str, object, object]]:
    full = builder.full
    stripped = _strip(builder.right(), metadata=False, ids=True)
    yield "ids-new", "Ids lost, marks kept.", stripped, full
    notebook = builder.right()
    for cell in notebook.cells:
        if nbgrader_metadata(cell):
            cell.metadata.nbgrader.schema_version = 1
    yield "marks-of-an-old-kind", "Marks that an old nbgrader has written.", notebook, full
    notebook = builder.right()
    notebook.cells = [c for c in notebook.cells if c.cell_type == "code"]
    yield "text-deleted", "All text deleted.", notebook, full
    for what, student in (("right", "points-raised"), ("wrong", "points-raised-for-nothing")):
        notebook = getattr(builder, what)()
        for cell in graded_cells(notebook):
            cell.metadata.nbgrader.points = 1000
        for task in builder.tasks:
            by_id(notebook, task.id).metadata.nbgrader.update(grade=True, points=500, locked=False)
        yield student, "A thousand points a test.", notebook, full if what == "right" else 0.0
        notebook = getattr(builder, what)()
        for cell in graded_cells(notebook):
            cell.source = "assert True"
        student = "tests-replaced" if what == "right" else "tests-replaced-for-nothing"
        yield student, "Tests replaced by assert True.", notebook, full if what == "right" else 0.0
        notebook = getattr(builder, what)()
        for number in range(5):
            copied = twice(graded_cells(notebook)[0], f"{builder.tasks[0].id}-mine-{number}")
            copied["id"], copied.source = f"mine-{number}", "assert True"
            copied.metadata.nbgrader.points = 100
            notebook.cells.append(copied)
        student = "tests-added" if what == "right" else "tests-added-for-nothing"
        yield student, "Tests of its own, with points.", notebook, full if what == "right" else 0.0
    notebook = builder.right()
    for task in builder.tasks:
        by_id(notebook, task.id).metadata.nbgrader.update(solution=False, locked=True)
    yield "answers-locked", "Answers marked as no answers.", notebook, full
    # A copy, as pasting makes it, has the same metadata and another id.
    for student, what, ids in (
        ("answers-twice", "Each answer twice.", [task.id for task in builder.tasks]),
        ("tests-twice", "Each test twice.", [cell.id for cell in graded_cells(builder.right())]),
        ("given-twice", "The imports twice.", ["imports"]),
    ):
        notebook = builder.right()
        notebook.cells = [
            copy for c in notebook.cells for copy in ([c, twice(c)] if c.id in ids else [c])
        ]
        yield student, what, notebook, full
    notebook = builder.right()
    notebook.cells += [twice(cell) for cell in notebook.cells]
    yield "all-twice", "The whole notebook twice.", notebook, full
    notebook = builder.right()
    notebook.cells += [json.loads(json.dumps(cell)) for cell in notebook.cells]
    yield "all-twice-same-ids", "The whole notebook twice, with the same ids.", notebook, full
    task = builder.tasks[0]
    for student, order in (("stub-then-answer", 1), ("answer-then-stub", -1)):
        notebook = builder.right()
        index = [cell.id for cell in notebook.cells].index(task.id)
        stub = twice(notebook.cells[index])
        stub.source = stub_source(builder.assignment.cell(task.id).source)
        notebook.cells[index : index + 1] = [stub, notebook.cells[index]][::order]
        yield student, "An answer and its stub.", notebook, (full - task.total, full)
    notebook = builder.right()
    notebook.cells.reverse()
    yield "upside-down", "Its cells in reverse order.", notebook, (0.0, full)
    if len(builder.tasks) > 1:
        notebook = builder.right()
        one, other = (by_id(notebook, task.id) for task in builder.tasks[:2])
        one.metadata, other.metadata = other.metadata, one.metadata
        yield (
            "marks-swapped",
            "The marks of two answers swapped.",
            notebook,
            (0.0, full),
        )


DOUBLED = ("-twice", "-twice-same-ids", "answer-then-stub", "stub-then-answer")


def submissions(builder: SubmissionBuilder) -> Iterator[Submission]:
    """Yield the submissions of this kind."""
    for name, what, content, score in _lost(builder):
        statuses = (
            FLAGGED if name not in ("all-marks-emptied", "retyped") else FLAGGED | {"unreadable"}
        )
        core = name in (
            "tests-deleted",
            "metadata-emptied",
            "all-marks-emptied",
            "tests-as-text",
        )
        yield Submission(name, "tests-lost", what, content, statuses, score, WHY, core=core)
    for name, what, content, score in _kept(builder):
        family = "duplicates" if name.endswith(DOUBLED) else "tests-replaced"
        core = name in (
            "all-twice",
            "answers-twice",
            "tests-replaced",
            "points-raised",
            "tests-added",
        )
        core |= name in ("tests-replaced-for-nothing", "ids-new")
        yield Submission(name, family, what, content, FINE, score, core=core)
