"""A source that breaks a rule is refused, by a message that names the cell."""

from __future__ import annotations

from pathlib import Path

import pytest
from jaxbits_grader.authoring import assignment_source as source
from jaxbits_grader.authoring.assignment_source import SourceError, marks

GOOD = """---
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


def test_what_is_read() -> None:
    ships = source.parse(GOOD, "ships")
    assert (ships.title, ships.minutes, ships.points) == ("Ships", 10, 2)
    assert ships.tasks[0].points == {"load-values": 2}
    assert ships.task_of("load-values") is ships.task_of("load") is ships.tasks[0]
    assert ships.task_of("given") is None
    assert [cell.id for cell in ships.notebook.cells] == ["given", "cell-02", "load", "load-values"]
    assert marks(ships.cell("load-values"))["points"] == 2
    assert marks(ships.cell("given"))["locked"] is True


BROKEN = {
    "no front matter": (GOOD[: GOOD.index("---\n", 5) + 4], ""),
    "'tasks' has a line each": ("    load: The", "  - load: The"),
    "'goals' is a list": ("  goals:\n  - count what is there", "  goals: count"),
    "lacks \\['title'\\]": ("  title: Ships\n", ""),
    "should be a whole number": ("minutes: 10", "minutes: an hour"),
    "minutes' is 1.5": ("minutes: 10", "minutes: 1.5"),
    "should be words of small letters": ("grade_id: given", "grade_id: Given"),
    "without one are called": ("grade_id: given", "grade_id: cell-02"),
    "is what cells without": ("grade_id: given", "grade_id: introduction"),
    "unknown marks \\['lokced'\\]": ("locked: true", "lokced: true"),
    "two cells have the grade_id": ("grade_id: load-values", "grade_id: given"),
    "has no rubric line": ("    load: The load", "    cargo: The load"),
    "no BEGIN SOLUTION line": (
        GOOD[GOOD.index("    ### BEGIN SOL") : GOOD.index("    ### END SOL") + 20],
        "    pass",
    ),
    "SOLUTION begins, and does not end": ("    ### END SOLUTION\n", ""),
    "HIDDEN TESTS begins, and does not end": ("### END HIDDEN TESTS\n", ""),
    "'### BEGIN SOLUTION now' does not belong": ("BEGIN SOLUTION\n", "BEGIN SOLUTION now\n"),
    "'###BEGIN HIDDEN TESTS' does not": ("### BEGIN HIDDEN", "###BEGIN HIDDEN"),
    "cell 1 \\(given\\): the line": ("HOLDS = [3, 4]", "### BEGIN HIDDEN TESTS\nHOLDS = 3"),
    "cell 2 \\(without a grade_id\\)": ("A ship has", "### BEGIN SOLUTION\nA ship has"),
    "cell 4 \\(load-values\\) is not plain Python": ("rows = 3 ", "%time rows = 3 "),
    "cell 3 \\(load\\) is not plain Python": ("s = 5", "s = = 5"),
    "should be called as a task before it": ("grade_id: load-values", "grade_id: lord-values"),
    "'load-values' has no points": ("points: 2", "points: 0"),
    "are 2.5; a test has a whole": ("points: 2", "points: 2.5"),
    "are 'two'; a test": ("points: 2", "points: two"),
    "are 2; a test has a whole number of them, a solution none": (
        "solution: true",
        "solution: true, points: 2",
    ),
    "has no test cell": (
        GOOD[GOOD.index("```{code-cell} ipython3\n:nbgrader: {grade_id: load-values") :],
        "",
    ),
}


@pytest.mark.parametrize("says", BROKEN)
def test_a_broken_rule_is_named(says: str) -> None:
    old, new = BROKEN[says]
    assert old in GOOD
    with pytest.raises(SourceError, match=says if says != "no front matter" else "front matter"):
        source.parse(GOOD.replace(old, new, 1), "ships")


def test_text_is_no_answer() -> None:
    text = '+++ {"nbgrader": {"grade_id": "load", "solution": true}}\n\nYour answer.\n\n'
    start, end = (
        GOOD.index(f"```{{code-cell}} ipython3\n:nbgrader: {{grade_id: {id}")
        for id in ("load,", "load-v")
    )
    with pytest.raises(SourceError, match="'load' is text"):
        source.parse(GOOD[:start] + text + GOOD[end:], "ships")


def test_no_source(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"holds no source\.md"):
        source.read(tmp_path)
    (tmp_path / source.SOURCE).write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="not UTF-8"):
        source.read(tmp_path)
    (tmp_path / source.SOURCE).write_text("---\na: [\n---\n")
    with pytest.raises(SourceError):
        source.read(tmp_path)


def test_find(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / name).mkdir()
        if name != "c":
            (tmp_path / name / source.SOURCE).write_text("")
    assert source.find(tmp_path) == [tmp_path / "a", tmp_path / "b"]
    assert source.find(tmp_path / "a") == [tmp_path / "a"]
    assert source.find(tmp_path / "c") == []
