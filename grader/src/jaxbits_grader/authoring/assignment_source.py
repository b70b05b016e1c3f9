"""Read an assignment from its source, a folder that contains a MyST notebook.

The author marks answers and tests with nbgrader metadata and marker lines. The module
`jaxbits_grader.authoring.cell_markers` describes the marker lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

from jaxbits_grader.authoring.assignment import Assignment, Task
from jaxbits_grader.authoring.cell_markers import (
    HIDDEN_TESTS,
    SOLUTION,
    MarkerError,
    parse_blocks,
    without_variant_comments,
)
from jaxbits_grader.authoring.input_limits import LimitError, parse_limits
from jaxbits_grader.authoring.new_inputs import NewInputsError, parse_new_inputs
from jaxbits_grader.notebook import (
    KERNEL,
    LANGUAGE,
    Role,
    full_nbgrader_metadata,
    nbgrader_metadata,
)

SOURCE_FILE = "source.md"
ANSWERS_FILE = "answers.py"

# In released and repaired notebooks, cells without a grade_id have ids of this form.
_RESERVED_ID = re.compile(r"(introduction|(cell|own)-[0-9]+)\Z")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_METADATA = {"grade_id", "solution", "locked", "points", "together", "varies", "forbids"}
_FRONT_MATTER = {"title", "chapter", "minutes", "goals", "tasks"}


class SourceError(ValueError):
    """Raised if an assignment's source breaks a rule. The message says where."""


def find_assignments(folder: Path) -> list[Path]:
    """Return the assignment folders in a folder.

    If the folder is itself an assignment, the result contains only that folder.
    """
    if (folder / SOURCE_FILE).is_file():
        return [folder]
    return sorted(path.parent for path in folder.glob(f"*/{SOURCE_FILE}"))


def read_assignment(folder: Path) -> Assignment:
    """Read the assignment in a folder. The folder's name becomes the assignment's name.

    Raises:
        SourceError: If the source is missing, is not UTF-8, or breaks a rule.
    """
    path = folder / SOURCE_FILE
    if not path.is_file():
        raise SourceError(f"{folder} has no {SOURCE_FILE}")
    try:
        return parse_assignment(path.read_text(encoding="utf-8"), folder.resolve().name)
    except UnicodeDecodeError as error:
        raise SourceError(f"{path} is not UTF-8 text: {error}") from None


def parse_assignment(text: str, name: str) -> Assignment:
    """Parse the source of an assignment.

    Args:
        text: The text of a MyST notebook that has `assignment` in its front matter.
        name: The name of the assignment.

    Raises:
        SourceError: If the source breaks a rule.
    """
    try:
        notebook = jupytext.reads(text, fmt="md:myst")
    except Exception as error:  # jupytext's YAML and Markdown parsers can raise any exception.
        raise SourceError(f"{name}: not MyST text: {' '.join(str(error).split())[:200]}") from error
    about = notebook.metadata.get("assignment")
    if not isinstance(about, dict):
        raise SourceError(f"{name}: the front matter has no 'assignment'")
    if missing := _FRONT_MATTER - set(about):
        raise SourceError(f"{name}: 'assignment' in the front matter lacks {sorted(missing)}")
    for key, kind in (("tasks", dict), ("goals", list)):
        if not isinstance(about[key], kind):
            expected = "a mapping" if kind is dict else "a list"
            raise SourceError(f"{name}: {key!r} must be {expected}, got {about[key]!r}")
    if type(about["minutes"]) is not int:
        raise SourceError(f"{name}: 'minutes' must be a whole number, got {about['minutes']!r}")
    try:
        limits = parse_limits(about.get("limits", {}))
    except LimitError as error:
        raise SourceError(f"{name}: {error}") from None
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": LANGUAGE})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    together: dict[str, str] = {}
    varies: dict[str, str] = {}
    forbidden: dict[str, tuple[str, ...]] = {}
    variable_tests: dict[str, str] = {}
    for number, cell in enumerate(notebook.cells, 1):
        commented, cell.source = cell.source, without_variant_comments(cell.source)
        if commented != cell.source:
            variable_tests[str(nbgrader_metadata(cell).get("grade_id"))] = commented
        for key, reasons in (("together", together), ("varies", varies)):
            if reason := nbgrader_metadata(cell).get(key):
                reasons[str(nbgrader_metadata(cell).get("grade_id"))] = str(reason)
        if "forbids" in (metadata := nbgrader_metadata(cell)):
            forbidden[str(metadata.get("grade_id"))] = _parse_forbidden(metadata, name)
        _complete_metadata(cell, number, name)
        _check_cell(cell, number, name)
    tasks = tuple(_parse_tasks(notebook, dict(about["tasks"]), name))
    functions = _arguments_of_solutions(notebook)
    try:
        new_inputs = parse_new_inputs(about.get("new_inputs", {}), functions)
    except NewInputsError as error:
        raise SourceError(f"{name}: {error}") from None
    return Assignment(
        name=name,
        title=str(about["title"]),
        chapter=str(about["chapter"]),
        minutes=about["minutes"],
        goals=tuple(map(str, about["goals"])),
        tasks=tasks,
        notebook=notebook,
        together=together,
        varies=varies,
        forbidden=forbidden,
        variable_tests=variable_tests,
        limits=limits,
        new_inputs=new_inputs,
    )


def _arguments_of_solutions(notebook: NotebookNode) -> dict[str, list[str]]:
    """Return the names of the arguments of each function that a solution defines."""
    found = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and nbgrader_metadata(cell).get("solution"):
            for node in ast.parse(cell.source).body:
                if isinstance(node, ast.FunctionDef):
                    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                    found[node.name] = [argument.arg for argument in arguments]
    return found


def _parse_forbidden(metadata: dict[str, Any], name: str) -> tuple[str, ...]:
    """Return the names and attributes that an answer must not use."""
    names, grade_id = metadata["forbids"], metadata.get("grade_id")
    if not metadata.get("solution"):
        raise SourceError(
            f"{name}: 'forbids' must be in a cell with 'solution: true', got it in {grade_id!r}"
        )
    is_list = isinstance(names, list) and bool(names)
    if not is_list or not all(
        isinstance(one, str) and one.removeprefix(".").isidentifier() for one in names
    ):
        raise SourceError(
            f"{name}: 'forbids' of {grade_id!r} must be a nonempty list of names and attributes, "
            f"such as [measured, .trace], got {names!r}"
        )
    return tuple(names)


def _complete_metadata(cell: NotebookNode, number: int, name: str) -> None:
    """Expand the author's short metadata into the full metadata that nbgrader needs."""
    given = nbgrader_metadata(cell)
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    if not given:
        cell.metadata = nbformat.from_dict({})
        cell.id = f"cell-{number:02}"
        return
    if unknown := set(given) - _METADATA:
        raise SourceError(f"{name}: cell {number} has unknown metadata {sorted(unknown)}")
    grade_id = str(given.get("grade_id", ""))
    if not _ID.match(grade_id) or len(grade_id) > 60:
        raise SourceError(
            f"{name}: the grade_id of cell {number} must be lowercase words and digits joined by "
            f"hyphens, got {grade_id!r}"
        )
    if _RESERVED_ID.match(grade_id):
        raise SourceError(f"{name}: the grade_id {grade_id!r} is reserved for cells without one")
    is_solution, is_test = bool(given.get("solution")), "points" in given
    if is_solution and is_test:
        raise SourceError(f"{name}: a solution must not have points, got {given['points']!r}")
    if "together" in given and not is_test:
        raise SourceError(f"{name}: only a test may be 'together', got {grade_id!r}")
    if "varies" in given and "together" not in given:
        raise SourceError(f"{name}: only a 'together' test may have 'varies', got {grade_id!r}")
    if is_test and (type(given["points"]) is not int or given["points"] < 1):
        raise SourceError(
            f"{name}: the points for {grade_id!r} must be a whole number of at least 1, got "
            f"{given['points']!r}"
        )
    if cell.cell_type != "code" and (is_solution or is_test):
        raise SourceError(
            f"{name}: solutions and tests must be code cells, but {grade_id!r} is text"
        )
    role = Role.SOLUTION if is_solution else Role.TEST if is_test else Role.GIVEN
    own = full_nbgrader_metadata(grade_id, role, given.get("points", 0))
    cell.metadata = nbformat.from_dict({"nbgrader": own})
    # The metadata may be lost in Colab or when a student retypes the cell, but the grader can still
    # identify the cell by its id.
    cell.id = grade_id


def _check_cell(cell: NotebookNode, number: int, name: str) -> None:
    """Check that everything that students must not see can be removed from a cell."""
    metadata = nbgrader_metadata(cell)
    where = f"{name}: cell {number} ({metadata.get('grade_id', 'without a grade_id')})"
    allowed = (
        SOLUTION if metadata.get("solution") else HIDDEN_TESTS if metadata.get("grade") else ""
    )
    try:
        blocks = parse_blocks(cell.source)
    except MarkerError as error:
        raise SourceError(f"{where}: {error}") from None
    for block in blocks:
        if block.kind != allowed:
            raise SourceError(f"{where}: unexpected line '### BEGIN {block.kind}'")
    if allowed:
        try:
            ast.parse(cell.source)
        except (SyntaxError, ValueError) as error:
            raise SourceError(f"{where} is not plain Python: {error}") from None
    if allowed == SOLUTION and not blocks:
        raise SourceError(f"{where} has no BEGIN SOLUTION line")


def _parse_tasks(notebook: NotebookNode, rubrics: dict[str, str], name: str) -> Iterator[Task]:
    points: dict[str, dict[str, int]] = {}
    seen: set[str] = set()
    for cell in notebook.cells:
        metadata = nbgrader_metadata(cell)
        if not metadata:
            continue
        grade_id = metadata["grade_id"]
        if grade_id in seen:
            raise SourceError(f"{name}: two cells have the grade_id {grade_id!r}")
        seen.add(grade_id)
        if metadata["solution"]:
            if grade_id not in rubrics:
                raise SourceError(f"{name}: the task {grade_id!r} has no rubric line")
            points[grade_id] = {}
        elif metadata["grade"]:
            # Use the longest match below, because one task's name may begin with another's.
            owners = [task for task in points if grade_id.startswith(f"{task}-")]
            if not owners:
                raise SourceError(
                    f"{name}: the grade_id of a test must begin with the grade_id of a task above "
                    f"it, followed by a hyphen; got {grade_id!r}; the tasks above it are "
                    f"{list(points)}"
                )
            points[max(owners, key=len)][grade_id] = metadata["points"]
    if unused := set(rubrics) - set(points):
        raise SourceError(f"{name}: rubric lines without a task: {sorted(unused)}")
    for task, tests in points.items():
        if not tests:
            raise SourceError(f"{name}: the task {task!r} has no test cell")
        yield Task(task, str(rubrics[task]), tests)
