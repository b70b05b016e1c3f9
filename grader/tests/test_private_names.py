"""Test that students' names do not affect the tests, and that the tests do not rebind them."""

from __future__ import annotations

import ast
from typing import Any

import grading_harness as harness
import numpy as np
import pytest
from jaxbits_grader.authoring.assignment_source import (
    find_assignments,
    parse_assignment,
    read_assignment,
)
from jaxbits_grader.authoring.cell_markers import visible_tests
from jaxbits_grader.authoring.private_names import PrivateNames, find_rebound_given_names
from jaxbits_grader.cell_names import bound_names
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
HONEST_ANSWER = "def total(xs):\n    return sum(xs)"


def run_notebook(*student_cells: str, answer: str = HONEST_ANSWER) -> dict[str, Any]:
    """Run the student's cells, the answer, and the test, and return the notebook's names."""
    private, names = PrivateNames(SUMS), {"__name__": "__main__"}
    given_source = SUMS.cell("given").source
    for source in (given_source, private.save_given_names(given_source), *student_cells, answer):
        exec(source, names)
    exec(private.rename_test(SUMS.cell("total-values").source, "through"), names)
    assert names[private.finished_name] == "through"
    names["redefined"] = eval(private.redefinition_query(), names)
    return names


def test_tests_use_copies_of_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SOURCE.replace("from jaxbits import testing", "import numpy as np").replace(
        'testing.assert_close(total(xs), 3, "the sum")',
        'assert not np.allclose(total(xs), 4), "the sum"',
    )
    sums = parse_assignment(text[: text.index("### BEGIN HIDDEN")] + "```\n", "sums")
    private, names = PrivateNames(sums), {"__name__": "__main__"}
    given = sums.cell("given").source
    exec(given + "\n" + private.save_given_names(given) + "\n" + HONEST_ANSWER, names)
    monkeypatch.setattr(np, "allclose", lambda *args: True)
    exec(private.rename_test(sums.cell("total-values").source, "through"), names)
    assert names[private.finished_name] == "through"


@pytest.mark.parametrize(
    "patch", ["object(np, 'sum', lambda x: 7)", "multiple(np, sum=lambda x: 7)"]
)
def test_patch_in_a_test_reaches_the_answer(patch: str) -> None:
    patched = f"with mock.patch.{patch}:\n    assert total([1]) == 7"
    text = SOURCE.replace("from jaxbits import testing", "import numpy as np").replace(
        'testing.assert_close(total(xs), 3, "the sum")', f"from unittest import mock\n{patched}"
    )
    sums = parse_assignment(text[: text.index("### BEGIN HIDDEN")] + "```\n", "sums")
    private, names = PrivateNames(sums), {"__name__": "__main__"}
    given = sums.cell("given").source
    answer = "def total(xs):\n    return np.sum(xs)"
    exec(given + "\n" + private.save_given_names(given) + "\n" + answer, names)
    exec(private.rename_test(sums.cell("total-values").source, "through"), names)
    assert names[private.finished_name] == "through"
    assert np.sum([1, 2]) == 3


def test_rename_test_leaves_no_hidden_name() -> None:
    names = run_notebook()
    assert names["xs"] == [1, 2]
    assert not {"draw", "rows", "n", "file", "said", "count", "last"} & set(names)
    assert names["redefined"] == ""


@pytest.mark.parametrize(
    "cell",
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
def test_rename_test_keeps_students_names(cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # monkeypatch restores these functions after the student's code has replaced one of them.
    for module, name in (
        (testing, "assert_close"),
        (testing, "_equality"),
        (_equality, "find_mismatch"),
        (_equality, "_is_close"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))
    before: dict[str, Any] = {}
    exec(SUMS.cell("given").source + "\n" + cell, before)
    names = run_notebook(cell)
    data_names = [name for name in bound_names(cell) if not callable(before[name])]
    assert all(names[name] == before[name] for name in data_names)


def test_rename_test_accepts_helper_named_like_hidden_one() -> None:
    helper = "def draw(xs):\n    return xs"
    run_notebook(helper, answer="def total(xs):\n    return sum(draw(xs))")


def test_rename_test_hides_names_from_answer() -> None:
    with pytest.raises(NameError):
        run_notebook(answer="def total(xs):\n    return 3 if xs == [1, 2] else sum(rows)")


def test_rename_test_hides_values_from_answer() -> None:
    with pytest.raises(AssertionError, match="the sum of three"):
        run_notebook(answer="def total(any):\n    return sum(xs)")


def test_rename_test_accepts_leading_blank_line() -> None:
    text = "xs = 1\n### BEGIN HIDDEN TESTS\n\nxs = 2\n### END HIDDEN TESTS\nys = xs"
    sums = parse_assignment(SOURCE.replace("xs = [1, 2]\n", f"{text}\n"), "sums")
    names: dict[str, Any] = {}
    exec(PrivateNames(sums).rename_test(text, "through"), names)
    assert (names["xs"], names["ys"]) == (1, 1)


GIVEN_NAMES_SOURCE = (
    SOURCE.replace("    return 2 * x\n", "    return 2 * x\n\nrow, step = [4, 5], 3\n")
    .replace(
        'testing.assert_close(total(xs), 3, "the sum")\n',
        """step = 1
testing.assert_close(total(xs) * step + twice(1), 5, "the sum")
""",
    )
    .replace(
        "xs = [*xs, 6]\n",
        "xs = [*xs, 6]\ndef twice(x):\n    return x\nrow, step = row + [twice(step)], 7\n"
        "assert row == [4, 5, 1] and step == 7, 'the row'\n",
    )
)


def test_tests_leave_given_names_alone() -> None:
    sums = parse_assignment(
        GIVEN_NAMES_SOURCE.replace("n + twice(1))(1) == 3", "n + twice(1))(1) == 2"), "sums"
    )
    private, names = PrivateNames(sums), {"__name__": "__main__"}
    given_source, test_source = sums.cell("given").source, sums.cell("total-values").source
    for source in (given_source, private.save_given_names(given_source), HONEST_ANSWER):
        exec(source, names)
    before = dict(names)
    for nonce in ("first", "second"):  # The second run must find the given values, too.
        exec(private.rename_test(test_source, nonce), names)
        assert names[private.finished_name] == nonce
        assert all(names[name] is before[name] for name in ("row", "step", "twice"))
    assert eval(private.redefinition_query(), names) == ""


def test_find_rebound_given_names_lists_names_of_each_test() -> None:
    assert find_rebound_given_names(SUMS) == {}
    sums = parse_assignment(GIVEN_NAMES_SOURCE, "sums")
    assert find_rebound_given_names(sums) == {"total-values": ["row", "step", "twice"]}


@pytest.mark.parametrize(
    "folder", find_assignments(harness.ASSIGNMENTS), ids=lambda folder: folder.name
)
def test_no_test_in_assignments_binds_given_name(folder: Any) -> None:
    assert find_rebound_given_names(read_assignment(folder)) == {}


def test_redefinition_query_finds_redefined_functions() -> None:
    assert run_notebook(SUMS.cell("given").source)["redefined"] == ""
    assert run_notebook("def twice(x):\n    return 0")["redefined"] == "twice"


@pytest.mark.parametrize(
    "folder", find_assignments(harness.ASSIGNMENTS), ids=lambda folder: folder.name
)
def test_rename_test_works_on_every_assignment(folder: Any) -> None:
    assignment = read_assignment(folder)
    private = PrivateNames(assignment)
    for cell in assignment.notebook.cells:
        if nbgrader_metadata(cell).get("grade"):
            renamed = private.rename_test(cell.source, "through")
            ast.parse(renamed)
            assert bound_names(renamed) & private.hidden == set()
            assert bound_names(visible_tests(cell.source)) <= bound_names(renamed)
