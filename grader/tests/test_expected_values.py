"""Test that the grader compares values again outside the student's process."""

from __future__ import annotations

import json
from pathlib import Path

import grading_harness as harness
import numpy as np
import pytest
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import SourceError, parse_assignment
from jaxbits_grader.checking import hidden_test_run
from jaxbits_grader.checking.hidden_test_run import run_hidden_tests
from jaxbits_grader.checking.run_record import RunResult
from jaxbits_grader.judging import comparisons
from jaxbits_grader.judging.expected_values import (
    Comparison,
    NotComparable,
    ValuesUnavailable,
    compared_tests,
    find_difference,
    read_expected_values,
)
from jaxbits_grader.running.limits import Limits

SOURCE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
assignment:
  title: Kilns
  chapter: 02-pure-functions
  minutes: 10
  goals: [fire]
  tasks: {fire: "The heat.", guess: "The guess."}
---

```{code-cell} ipython3
:nbgrader: {grade_id: given, locked: true}
import jax
import jax.numpy as jnp
import numpy as np
from jaxbits import testing
```

```{code-cell} ipython3
:nbgrader: {grade_id: fire, solution: true}
def fire(kiln, coal):
    ### BEGIN SOLUTION
    kiln[...] = kiln[...] + coal
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: fire-values, points: 2, together: the test passes a Ref to the answer}
kiln = jax.new_ref(jnp.float32(1))
fire(kiln, 2.0)
testing.assert_close(kiln[...], 3.0, "the heat of one kiln")
### BEGIN HIDDEN TESTS
class Stove:
    def heat(self, coal):
        return 20.0 + coal


kiln = jax.new_ref(jnp.float32(20))
fire(kiln, 5.0)
testing.assert_close(kiln[...], Stove().heat(5.0), "the heat of another kiln")
### END HIDDEN TESTS
```

```{code-cell} ipython3
:nbgrader: {grade_id: fire-twice, points: 1, together: x, varies: coal differs}
### BEGIN HIDDEN TESTS
kiln = jax.new_ref(jnp.float32(20))
fire(kiln, 5.0)
testing.assert_close(kiln[...], kiln[...], "the heat of the same kiln")
### END HIDDEN TESTS
```

```{code-cell} ipython3
:nbgrader: {grade_id: guess, solution: true}
def guess(kiln):
    ### BEGIN SOLUTION
    return jnp.arange(10) < 5
    ### END SOLUTION
```

```{code-cell} ipython3
:nbgrader: {grade_id: guess-values, points: 2, together: the test passes a Ref to the answer}
### BEGIN HIDDEN TESTS
labels = np.arange(10) < 6
testing.assert_accuracy(guess(jax.new_ref(jnp.float32(20))), labels, "the hot ones", at_least=0.9)
### END HIDDEN TESTS
```
"""
RIGHT = {
    "fire": "def fire(kiln, coal):\n    kiln[...] = kiln[...] + coal",
    "guess": "def guess(kiln):\n    return jnp.arange(10) < 5",
}
FULL = {"fire-values": 2, "fire-twice": 1, "guess-values": 2}
ASSIGNMENT = parse_assignment(SOURCE, "kilns")
# The scan would note this code, which changes what a test computes while it runs.
CHANGED = {
    "class of a test": """
def fire(kiln, coal):
    import inspect
    heat = kiln[...]
    if heat == 1:
        kiln[...] = heat + coal
    for name, found in vars(__import__("__main__")).items():
        if name.endswith("Stove"):
            found.heat = lambda self, coal: 20.0
""",
    "record": """
def fire(kiln, coal):
    from jaxbits_grader.judging import comparisons
    kiln[...] = kiln[...] + coal
    comparisons._recorded.clear()
""",
}


def grade(
    assignment: Assignment = ASSIGNMENT, cache: Path | None = None, **answers: str
) -> RunResult:
    repaired, _ = harness.fill_in(assignment, {**RIGHT, **answers})
    return run_hidden_tests(repaired, assignment, Limits(), cache=cache)


def points(result: RunResult) -> dict[str, float]:
    return {cell.id: cell.points or 0 for cell in result.points}


@harness.needs_sandbox
def test_right_answers_keep_points_and_judges_keep_programs(tmp_path: Path) -> None:
    result = grade(cache=tmp_path)
    assert (points(result), result.odd, result.tampering) == (FULL, (), ())
    assert any(path.name.startswith("jit_") for path in tmp_path.iterdir())
    values = list((tmp_path / "expected-values").glob("kilns-*.json"))
    assert len(values) == 1
    assert set(json.loads(values[0].read_text())) == {"fire-values", "guess-values"}


@harness.needs_sandbox
def test_changed_class_of_test_earns_no_points() -> None:
    result = grade(fire=CHANGED["class of a test"])
    found = points(result)
    assert found["fire-values"] == 0
    message = next(cell.message for cell in result.points if cell.id == "fire-values")
    assert message == "the heat of another kiln"
    note = "fire-values passes, but its values differ from those with the solution"
    assert note in result.odd


@harness.needs_sandbox
def test_changed_record_is_noted() -> None:
    result = grade(fire=CHANGED["record"])
    note = "fire-values does not make the same comparisons as with the solution"
    assert note in result.odd


@harness.needs_sandbox
def test_solution_that_fails_costs_no_points_but_is_noted() -> None:
    text = SOURCE.replace("return jnp.arange(10) < 5\n    ### END", "return None\n    ### END")
    result = grade(parse_assignment(text, "kilns"))
    assert points(result) == FULL
    note = "the values of fire-values could not be compared: RuntimeError: guess-values fails with"
    assert any(found.startswith(note) for found in result.odd)


@harness.needs_sandbox
def test_waiting_for_the_solution_is_not_part_of_the_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = []
    launch, read = hidden_test_run.launch_kernel, hidden_test_run.read_expected_values
    monkeypatch.setattr(
        hidden_test_run, "launch_kernel", lambda *a, **k: steps.append("launch") or launch(*a, **k)
    )
    monkeypatch.setattr(
        hidden_test_run, "read_expected_values", lambda *a: steps.append("read") or read(*a)
    )
    assert points(grade()) == FULL
    assert steps == ["read", "launch"]


def test_expected_values_come_from_the_solution() -> None:
    found = read_expected_values(ASSIGNMENT)
    assert list(found) == compared_tests(ASSIGNMENT) == ["fire-values", "guess-values"]
    first, second = found["fire-values"]
    assert (first.message, second.message) == ("the heat of one kiln", "the heat of another kiln")
    assert second.numbers.tolist() == [25.0]
    assert found["guess-values"][0].rules == {"at_least": 0.9}


def test_solution_without_values_is_an_error() -> None:
    text = SOURCE.replace("kiln[...] = kiln[...] + coal\n    ### END", "missing\n    ### END")
    with pytest.raises(ValuesUnavailable, match="fire-values fails with the solution: NameError"):
        read_expected_values(parse_assignment(text, "kilns"))


def record(*pairs: tuple[str, object]) -> str:
    comparisons.start()
    for message, value in pairs:
        comparisons.observe(value, value, message, rtol=0.1, atol=0.0)
    return comparisons.take("answer")


CLOSE = {"rtol": 0.1, "atol": 0.0}
EXPECTED = [
    Comparison("first", np.array([1.0, 2.0]), CLOSE),
    Comparison("second", np.array([np.nan]), CLOSE),
    Comparison("third", np.array([1.0, 0.0, 1.0, 1.0]), {"at_least": 0.75}),
]
LABELS = [True, False, True, False]


def test_values_within_twice_the_tolerance_are_right() -> None:
    seen = record(("first", [1.15, 2.0]), ("second", np.float32("nan")), ("third", LABELS))
    assert find_difference(seen, EXPECTED) is None


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ([("first", [1.3, 2.0]), ("second", np.nan), ("third", LABELS)], "first"),
        ([("first", [1.0]), ("second", np.nan), ("third", LABELS)], "first"),
        ([("first", [1, 2]), ("second", 0.0), ("third", LABELS)], "second"),
        ([("first", [1, 2]), ("second", np.nan), ("third", [False] * 4)], "third"),
    ],
)
def test_first_wrong_value_gives_the_message(seen: list[tuple[str, object]], message: str) -> None:
    assert find_difference(record(*seen), EXPECTED) == message


@pytest.mark.parametrize(
    "seen",
    [
        None,
        "",
        "[",
        "{}",
        "3",
        "[1, 2, 3]",
        '[["first", 3], ["second", "AA"], ["third", ""]]',
        record(("first", [1, 2]), ("second", np.nan)),
        record(("second", np.nan), ("first", [1, 2]), ("third", LABELS)),
    ],
)
def test_other_comparisons_are_an_error(seen: str | None) -> None:
    with pytest.raises(NotComparable):
        find_difference(seen, EXPECTED)


def test_only_tests_beside_the_answer_may_vary() -> None:
    text = SOURCE.replace("together: x, varies", "varies")
    message = "only a 'together' test may have 'varies', got 'fire-twice'"
    with pytest.raises(SourceError, match=message):
        parse_assignment(text, "kilns")
