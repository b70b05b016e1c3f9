"""An assignment as its author writes it: MyST text with nbgrader's marks, a folder for each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

SOURCE = "source.md"
ANSWERS = "answers.py"

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}

# Names that cells get where their author gives them none, here and in a repaired notebook.
_TAKEN = re.compile(r"(introduction|(cell|own)-[0-9]+)\Z")
_MARKED = re.compile(r"###\s*(BEGIN|END)\b")
_WHOLE = re.compile(r"[ \t]*### (BEGIN|END) (SOLUTION|HIDDEN TESTS)")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")


class SourceError(ValueError):
    """An assignment's source that is not as it should be; the message names the cell."""


@dataclass(frozen=True)
class Task:
    """One task: its id, what full marks mean, and the points of its test cells by their ids."""

    id: str
    rubric: str
    points: dict[str, int]

    @property
    def total(self) -> int:
        """The points of all its test cells."""
        return sum(self.points.values())


@dataclass(frozen=True)
class Assignment:
    """An assignment's source: what it is about, its tasks, and its cells, complete with marks."""

    name: str
    title: str
    chapter: str
    minutes: int
    goals: tuple[str, ...]
    tasks: tuple[Task, ...]
    notebook: NotebookNode

    @property
    def points(self) -> int:
        """The points of all tasks."""
        return sum(task.total for task in self.tasks)

    def task_of(self, grade_id: str) -> Task | None:
        """The task that a solution or test cell belongs to."""
        for task in self.tasks:
            if grade_id == task.id or grade_id in task.points:
                return task
        return None

    def cell(self, grade_id: str) -> NotebookNode:
        """The cell with this id."""
        return next(c for c in self.notebook.cells if marks(c).get("grade_id") == grade_id)


def marks(cell: NotebookNode) -> dict[str, Any]:
    """The nbgrader metadata of a cell, empty where it has none."""
    found = cell.get("metadata", {}).get("nbgrader")
    return found if isinstance(found, dict) else {}


def find(folder: Path) -> list[Path]:
    """The folders of assignments in a folder, or the folder itself if it is one."""
    if (folder / SOURCE).is_file():
        return [folder]
    return sorted(path.parent for path in folder.glob(f"*/{SOURCE}"))


def read(folder: Path) -> Assignment:
    """Read the source of an assignment.

    Args:
        folder: the assignment's folder, which holds ``source.md``; its name is the assignment's.

    Raises:
        SourceError: when there is no source, or it breaks a rule.
    """
    path = folder / SOURCE
    if not path.is_file():
        raise SourceError(f"{folder} holds no {SOURCE}")
    try:
        return parse(path.read_text(encoding="utf-8"), folder.resolve().name)
    except UnicodeDecodeError as error:
        raise SourceError(f"{path} is not UTF-8 text: {error}") from None


def parse(text: str, name: str) -> Assignment:
    """Make an assignment of its source's text.

    Raises:
        SourceError: when it breaks a rule.
    """
    try:
        notebook = jupytext.reads(text, fmt="md:myst")
    except Exception as error:  # jupytext lets the errors of YAML and of its own parser through
        raise SourceError(f"{name}: not MyST text: {' '.join(str(error).split())[:200]}") from error
    about = notebook.metadata.get("assignment")
    if not isinstance(about, dict):
        raise SourceError(f"{name}: its front matter has no 'assignment'")
    missing = {"title", "chapter", "minutes", "goals", "tasks"} - set(about)
    if missing:
        raise SourceError(f"{name}: 'assignment' in its front matter lacks {sorted(missing)}")
    if not isinstance(about["tasks"], dict) or not isinstance(about["goals"], list):
        raise SourceError(f"{name}: in its front matter 'goals' is a list, 'tasks' has a line each")
    if type(about["minutes"]) is not int:
        raise SourceError(f"{name}: 'minutes' is {about['minutes']!r}; it should be a whole number")
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": LANGUAGE})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells, 1):
        _complete(cell, number, name)
        _look(cell, number, name)
    tasks = tuple(_tasks(notebook, dict(about["tasks"]), name))
    return Assignment(
        name=name,
        title=str(about["title"]),
        chapter=str(about["chapter"]),
        minutes=about["minutes"],
        goals=tuple(map(str, about["goals"])),
        tasks=tasks,
        notebook=notebook,
    )


def _complete(cell: NotebookNode, number: int, name: str) -> None:
    """Write out nbgrader's marks, of which an author gives only what says something."""
    given = marks(cell)
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    if not given:
        cell.metadata = nbformat.from_dict({})
        cell.id = f"cell-{number:02}"
        return
    unknown = set(given) - {"grade_id", "solution", "locked", "points"}
    if unknown:
        raise SourceError(f"{name}: cell {number} has unknown marks {sorted(unknown)}")
    grade_id = str(given.get("grade_id", ""))
    if not _ID.match(grade_id) or len(grade_id) > 60:
        raise SourceError(
            f"{name}: the grade_id of cell {number} is {grade_id!r}; it should be words of small "
            "letters and digits with hyphens between them"
        )
    if _TAKEN.match(grade_id):
        raise SourceError(f"{name}: the grade_id {grade_id!r} is what cells without one are called")
    solution, graded = bool(given.get("solution")), "points" in given
    if graded and (solution or type(given["points"]) is not int):
        raise SourceError(
            f"{name}: the points of {grade_id!r} are {given['points']!r}; a test has a whole "
            "number of them, a solution none"
        )
    if cell.cell_type != "code" and (solution or graded):
        raise SourceError(f"{name}: {grade_id!r} is text; solutions and tests are code")
    complete = {
        "schema_version": 3,
        "grade_id": grade_id,
        "solution": solution,
        "grade": graded,
        "task": False,
        "locked": not solution,
    }
    if graded:
        complete["points"] = given["points"]
    cell.metadata = nbformat.from_dict({"nbgrader": complete})
    # The repair of what Colab and retyping lose finds cells by their ids.
    cell.id = grade_id


def _look(cell: NotebookNode, number: int, name: str) -> None:
    """Make sure that every part of a cell that a student must not see can be taken out."""
    mark = marks(cell)
    where = f"{name}: cell {number} ({mark.get('grade_id', 'without a grade_id')})"
    allowed = ["SOLUTION"] * bool(mark.get("solution")) + ["HIDDEN TESTS"] * bool(mark.get("grade"))
    within = ""
    for line in cell.source.splitlines():
        if not _MARKED.search(line):
            continue
        match = _WHOLE.fullmatch(line)
        kind, what = (match[1], match[2]) if match else ("", "")
        if what not in allowed or within != ("" if kind == "BEGIN" else what):
            raise SourceError(f"{where}: the line {line.strip()!r} does not belong there")
        within = what if kind == "BEGIN" else ""
    if within:
        raise SourceError(f"{where}: {within} begins, and does not end")
    if allowed:
        try:
            ast.parse(cell.source)
        except (SyntaxError, ValueError) as error:
            raise SourceError(f"{where} is not plain Python: {error}") from None


def _tasks(notebook: NotebookNode, rubrics: dict[str, str], name: str) -> Iterator[Task]:
    order: list[str] = []
    points: dict[str, dict[str, int]] = {}
    seen: set[str] = set()
    for cell in notebook.cells:
        mark = marks(cell)
        if not mark:
            continue
        grade_id = mark["grade_id"]
        if grade_id in seen:
            raise SourceError(f"{name}: two cells have the grade_id {grade_id!r}")
        seen.add(grade_id)
        if mark["solution"]:
            if grade_id not in rubrics:
                raise SourceError(f"{name}: the task {grade_id!r} has no rubric line")
            if "### BEGIN SOLUTION" not in cell.source:
                raise SourceError(f"{name}: the solution {grade_id!r} has no BEGIN SOLUTION line")
            order.append(grade_id)
            points[grade_id] = {}
        elif mark["grade"]:
            # The longest: a task may be called as another one and more.
            owners = [task for task in order if grade_id.startswith(f"{task}-")]
            if not owners:
                raise SourceError(
                    f"{name}: the test cell {grade_id!r} should be called as a task before it, a "
                    f"hyphen, and more; the tasks before it are {order}"
                )
            if mark["points"] < 1:
                raise SourceError(f"{name}: the test cell {grade_id!r} has no points")
            points[max(owners, key=len)][grade_id] = mark["points"]
    if set(order) != set(rubrics):
        raise SourceError(
            f"{name}: rubric lines without a task: {sorted(set(rubrics) - set(order))}"
        )
    for task in order:
        if not points[task]:
            raise SourceError(f"{name}: the task {task!r} has no test cell")
        yield Task(task, str(rubrics[task]), points[task])
