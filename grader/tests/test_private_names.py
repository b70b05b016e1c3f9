"""Students' names do not change tests, and tests do not change students' names."""

from __future__ import annotations

import ast
from typing import Any

import grading_harness as harness
import pytest
from jaxbits_grader.authoring.assignment_source import (
    find_assignments,
    parse_assignment,
    read_assignment,
)
from jaxbits_grader.authoring.cell_markers import visible_tests
from jaxbits_grader.authoring.private_names import PrivateNames
from jaxbits_grader.cell_names import bound_names
from jaxbits_grader.checking.hidden_test_run import literal_messages
from jaxbits_grader.notebook import nbgrader_metadata

from jaxbits import _equality, testing

SOURCE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
assignment:
  title: Sums
  chapter: 02-pure-functions
  minutes: 10
  goals: [count]
  tasks: {total: "Right for all sizes."}
---

```{code-cell} ipython3
:nbgrader: {grade_id: given, locked: true}
from jaxbits import testing

def twice(x):
    return 2 * x
```

```{code-cell} ipython3
:nbgrader: {grade_id: total, solution: true}
def total(xs):
    ### BEGIN SOLUTION
    return sum(xs)
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: total-values, points: 2}
xs = [1, 2]
testing.assert_close(total(xs), 3, "the sum")
### BEGIN HIDDEN TESTS
def draw(n, *, step=1):
    global count
    count = n
    return [step * k for k in range(n)]

xs = [*xs, 6]
testing.assert_close(total(xs), 9, "the sum of three")
for n in (3, 5):
    rows = draw(n, step=2)
    with open("/dev/null") as file:
        pass
    try:
        raise ValueError("no")
    except ValueError as error:
        said = str(error)
    testing.assert_close(total(rows), max(sum(rows), 0), "another sum")
    testing.assert_close([total([row]) for row in rows if (last := row) >= 0], rows, "one")
assert (lambda n: n + twice(1))(1) == 3 and count == 5 and last == 8 and said == "no"
### END HIDDEN TESTS
```
"""
SUMS = parse_assignment(SOURCE, "sums")
ASKING = [
    f"testing.{name}"
    for name in ("assert_close", "assert_array", "reject_custom_equality", "assert_raises")
]
HONEST = "def total(xs):\n    return sum(xs)"


def run(*own: str, answer: str = HONEST) -> dict[str, Any]:
    """Run the student's cells and the test, and return the notebook's names."""
    private, names = PrivateNames(SUMS), {"__name__": "__main__"}
    given = SUMS.cell("given").source
    for cell in (given, private.save_given_names(given), *own, answer):
        exec(cell, names)
    exec(private.rename_test(SUMS.cell("total-values").source, "through"), names)
    assert names[private.finished_name] == "through"
    names["redefined"] = eval(private.redefinition_query(), names)
    return names


def test_the_honest_answer_passes_and_leaves_no_hidden_name() -> None:
    names = run()
    assert names["xs"] == [1, 2]
    assert not {"draw", "rows", "n", "file", "said", "count", "last"} & set(names)
    assert names["redefined"] == ""


@pytest.mark.parametrize(
    "own",
    [
        "def draw(xs):\n    return xs\nn = rows = said = count = 4",
        "max = lambda *a: -1",
        "range = 5",
        "testing = None",
        "testing.assert_close = print",
        "testing._equality.find_mismatch = lambda *a, **k: a",
        "testing._equality._is_close = lambda *a: False",
        "testing._equality = None",
    ],
)
def test_student_names_survive_tests(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # An answer that patches one of these is undone.
    for module, name in (
        (testing, "assert_close"),
        (testing, "_equality"),
        (_equality, "find_mismatch"),
        (_equality, "_is_close"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))
    before: dict[str, Any] = {}
    exec(SUMS.cell("given").source + "\n" + own, before)
    names = run(own)
    mine = [name for name in bound_names(own) if not callable(before[name])]
    assert all(names[name] == before[name] for name in mine)


def test_a_helper_with_the_name_of_a_hidden_one() -> None:
    helper = "def draw(xs):\n    return xs"
    run(helper, answer="def total(xs):\n    return sum(draw(xs))")


def test_hidden_names_cannot_be_read() -> None:
    with pytest.raises(NameError):
        run(answer="def total(xs):\n    return 3 if xs == [1, 2] else sum(rows)")


def test_hidden_values_cannot_be_read() -> None:
    with pytest.raises(AssertionError, match="the sum of three"):
        run(answer="def total(any):\n    return sum(xs)")


def test_hidden_tests_may_begin_with_a_blank_line() -> None:
    text = "xs = 1\n### BEGIN HIDDEN TESTS\n\nxs = 2\n### END HIDDEN TESTS\nys = xs"
    sums = parse_assignment(SOURCE.replace("xs = [1, 2]\n", f"{text}\n"), "sums")
    names: dict[str, Any] = {}
    exec(PrivateNames(sums).rename_test(text, "through"), names)
    assert (names["xs"], names["ys"]) == (1, 1)


def test_redefined_given_functions_are_found() -> None:
    assert run(SUMS.cell("given").source)["redefined"] == ""
    assert run("def twice(x):\n    return 0")["redefined"] == "twice"


@pytest.mark.parametrize(
    "folder", find_assignments(harness.ASSIGNMENTS), ids=lambda folder: folder.name
)
def test_tests_of_the_assignments_can_be_renamed(folder: Any) -> None:
    assignment = read_assignment(folder)
    private = PrivateNames(assignment)
    for cell in assignment.notebook.cells:
        if nbgrader_metadata(cell).get("grade"):
            written = private.rename_test(cell.source, "through")
            ast.parse(written)
            assert bound_names(written) & private.hidden == set()
            assert bound_names(visible_tests(cell.source)) <= bound_names(written)


@pytest.mark.parametrize(
    "folder", find_assignments(harness.ASSIGNMENTS), ids=lambda folder: folder.name
)
def test_every_check_in_the_assignments_has_a_literal_message(folder: Any) -> None:
    silent = [
        ast.unparse(node)
        for cell in read_assignment(folder).notebook.cells
        if nbgrader_metadata(cell).get("grade")
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Assert | ast.Call)
        if isinstance(node, ast.Assert) or ast.unparse(node.func) in ASKING
        if not literal_messages(ast.unparse(node))
    ]
    assert silent == []
