"""Test that assignments are parsed, and that a source with a mistake raises a clear error."""

from __future__ import annotations

from pathlib import Path

import pytest
from jaxbits_grader.authoring.assignment_source import (
    SOURCE_FILE,
    SourceError,
    find_assignments,
    parse_assignment,
    read_assignment,
)
from jaxbits_grader.notebook import nbgrader_metadata

VALID_SOURCE = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
assignment:
  title: Ships
  chapter: 01-tracing
  minutes: 10
  goals:
  - count what is there
  tasks:
    load: The load | the sum of all holds | is right.
---

```{code-cell} ipython3
:nbgrader: {grade_id: given, locked: true}

HOLDS = [3, 4]  # a given list
```

A ship has holds.

```{code-cell} ipython3
:nbgrader: {grade_id: load, solution: true}

def load(holds):
    ### BEGIN SOLUTION
    total = sum(holds)
    s = 5
    return total
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: load-values, points: 2}

rows = 3  # variant: 2..9
assert load([1, rows]) == 1 + rows, "the sum"
### BEGIN HIDDEN TESTS
assert load([7] * rows) == 7 * rows, "the sum of many"
### END HIDDEN TESTS
```
"""


def test_parse_assignment_reads_cells_tasks_and_points() -> None:
    ships = parse_assignment(VALID_SOURCE, "ships")
    assert (ships.title, ships.minutes, ships.points) == ("Ships", 10, 2)
    assert ships.tasks[0].points == {"load-values": 2}
    assert list(ships.variable_tests) == ["load-values"]
    assert "rows = 3  # variant: 2..9" in ships.variable_tests["load-values"]
    assert "variant" not in ships.cell("load-values").source
    assert ships.function_names >= {"load"}
    assert ships.task_of("load-values") is ships.task_of("load") is ships.tasks[0]
    assert ships.task_of("given") is None
    assert [cell.id for cell in ships.notebook.cells] == ["given", "cell-02", "load", "load-values"]
    assert nbgrader_metadata(ships.cell("load-values"))["points"] == 2
    assert nbgrader_metadata(ships.cell("given"))["locked"] is True


BROKEN_SOURCES = {
    "no front matter": (VALID_SOURCE[: VALID_SOURCE.index("---\n", 5) + 4], ""),
    "'tasks' must be a mapping": ("    load: The", "  - load: The"),
    "'goals' must be a list": ("  goals:\n  - count what is there", "  goals: count"),
    "lacks \\['title'\\]": ("  title: Ships\n", ""),
    "'minutes' must be a whole number": ("minutes: 10", "minutes: an hour"),
    "must be a whole number, got 1.5": ("minutes: 10", "minutes: 1.5"),
    "must be lowercase words": ("grade_id: given", "grade_id: Given"),
    "'cell-02' is reserved": ("grade_id: given", "grade_id: cell-02"),
    "'introduction' is reserved": ("grade_id: given", "grade_id: introduction"),
    "unknown metadata \\['lokced'\\]": ("locked: true", "lokced: true"),
    "two cells have the grade_id": ("grade_id: load-values", "grade_id: given"),
    "has no rubric line": ("    load: The load", "    cargo: The load"),
    "no BEGIN SOLUTION line": (
        VALID_SOURCE[
            VALID_SOURCE.index("    ### BEGIN SOL") : VALID_SOURCE.index("    ### END SOL") + 20
        ],
        "    pass",
    ),
    "unterminated '### BEGIN SOLUTION' block": ("    ### END SOLUTION\n", ""),
    "unterminated '### BEGIN HIDDEN TESTS' block": ("### END HIDDEN TESTS\n", ""),
    "unexpected line '### BEGIN SOLUTION now'": ("BEGIN SOLUTION\n", "BEGIN SOLUTION now\n"),
    "unexpected line '###BEGIN HIDDEN TESTS'": ("### BEGIN HIDDEN", "###BEGIN HIDDEN"),
    "cell 1 \\(given\\): unterminated": ("HOLDS = [3, 4]", "### BEGIN HIDDEN TESTS\nHOLDS = 3"),
    "cell 2 \\(without a grade_id\\)": ("A ship has", "### BEGIN SOLUTION\nA ship has"),
    "cell 4 \\(load-values\\) is not plain Python": ("rows = 3 ", "%time rows = 3 "),
    "cell 3 \\(load\\) is not plain Python": ("s = 5", "s = = 5"),
    "must begin with the grade_id of a task above it": (
        "grade_id: load-values",
        "grade_id: lord-values",
    ),
    "at least 1, got 0": ("points: 2", "points: 0"),
    "a whole number of at least 1, got 2.5": ("points: 2", "points: 2.5"),
    "a whole number of at least 1, got 'two'": ("points: 2", "points: two"),
    "a solution must not have points, got 2": (
        "solution: true",
        "solution: true, points: 2",
    ),
    "has no test cell": (
        VALID_SOURCE[
            VALID_SOURCE.index("```{code-cell} ipython3\n:nbgrader: {grade_id: load-values") :
        ],
        "",
    ),
}


@pytest.mark.parametrize("message", BROKEN_SOURCES)
def test_parse_assignment_rejects_broken_source(message: str) -> None:
    old, new = BROKEN_SOURCES[message]
    assert old in VALID_SOURCE
    with pytest.raises(
        SourceError, match=message if message != "no front matter" else "front matter"
    ):
        parse_assignment(VALID_SOURCE.replace(old, new, 1), "ships")


def test_parse_assignment_rejects_answer_in_text_cell() -> None:
    text_cell = '+++ {"nbgrader": {"grade_id": "load", "solution": true}}\n\nYour answer.\n\n'
    start, end = (
        VALID_SOURCE.index(f"```{{code-cell}} ipython3\n:nbgrader: {{grade_id: {id}")
        for id in ("load,", "load-v")
    )
    with pytest.raises(SourceError, match="must be code cells, but 'load' is text"):
        parse_assignment(VALID_SOURCE[:start] + text_cell + VALID_SOURCE[end:], "ships")


def test_read_assignment_rejects_missing_or_bad_source(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has no source\.md"):
        read_assignment(tmp_path)
    (tmp_path / SOURCE_FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="not UTF-8"):
        read_assignment(tmp_path)
    (tmp_path / SOURCE_FILE).write_text("---\na: [\n---\n")
    with pytest.raises(SourceError):
        read_assignment(tmp_path)


def test_find_assignments_finds_folders_with_source(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / name).mkdir()
        if name != "c":
            (tmp_path / name / SOURCE_FILE).write_text("")
    assert find_assignments(tmp_path) == [tmp_path / "a", tmp_path / "b"]
    assert find_assignments(tmp_path / "a") == [tmp_path / "a"]
    assert find_assignments(tmp_path / "c") == []
