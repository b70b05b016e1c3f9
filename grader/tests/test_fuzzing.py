"""Test that answers are called with new inputs, and that only wrong answers are noted."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import grading_harness as harness
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbits_grader.authoring.assignment import Assignment
from jaxbits_grader.authoring.assignment_source import SourceError, parse_assignment
from jaxbits_grader.authoring.input_limits import InputLimits, parse_limits
from jaxbits_grader.authoring.new_inputs import NewInputs
from jaxbits_grader.authoring.notebook_versions import solution_notebook
from jaxbits_grader.checking.hidden_test_run import run_hidden_tests
from jaxbits_grader.checking.solution_check import find_solution_problems
from jaxbits_grader.judging.fuzzing.agreement import NoAgreement, agrees
from jaxbits_grader.judging.fuzzing.code_numbers import numbers_in
from jaxbits_grader.judging.fuzzing.difference_search import find_difference
from jaxbits_grader.judging.fuzzing.input_drawer import InputDrawer
from jaxbits_grader.judging.fuzzing.recorded_calls import RecordedCall, RecordedCalls
from jaxbits_grader.judging.fuzzing.reference_comparison import (
    ReferenceComparison,
    compare_with_references,
)
from jaxbits_grader.judging.fuzzing.transformed_answers import (
    UNTRANSFORMED,
    Transforms,
    note_transformed,
    unwrap_arguments,
    without_note,
)
from jaxbits_grader.judging.remote_objects import CannotSplit, NoReply
from jaxbits_grader.notebook import ParsedNotebook
from jaxbits_grader.running.limits import Limits

LIMITS = Limits(cell_seconds=60, notebook_seconds=300)


ROW = NewInputs(("row",))


def total(row: Any) -> Any:
    """Return the sum of a row."""
    return jnp.sum(jnp.asarray(row))


def total_by_halves(row: Any) -> Any:
    """Return the sum of a row, which is another right answer."""
    row = np.asarray(row)
    return float(row[: len(row) // 2].sum() + row[len(row) // 2 :].sum())


def difference(
    answer: Callable[..., Any],
    limits: dict[str, Any],
    *calls: RecordedCall,
    numbers: list[float] | None = None,
    references: tuple[Callable[..., Any], ...] = (total, total_by_halves),
    inputs: NewInputs = ROW,
) -> str | None:
    """Return a call for which an answer differs from the references."""
    rng = random.Random(0)
    parsed = parse_limits(limits)
    drawer = InputDrawer(references[0], calls, inputs, parsed, numbers or [], rng)
    return find_difference(answer, references, [drawer], rng, seconds=2.0).difference


CALL = RecordedCall("total", (np.arange(6, dtype=np.float32),), {})


def test_a_size_in_the_code_is_tried() -> None:
    def answer(row: Any) -> Any:
        return total(row) if len(row) != 1234 else 0.0

    found = difference(answer, {"total.row": {"size": [1, 2000]}}, CALL, numbers=[1234])
    assert found is not None
    assert "float32[1234]" in found


def test_a_number_in_the_code_is_tried() -> None:
    def answer(row: Any) -> Any:
        return jnp.sum(jnp.minimum(jnp.asarray(row), 777.0))

    limits = {"total.row": {"values": [-1000, 1000]}}
    assert difference(answer, limits, CALL, numbers=[777.0]) is not None


def test_kinds_and_special_numbers_are_tried() -> None:
    limits = {"total.row": {"kinds": ["jnp"]}}
    assert difference(lambda row: row.sum() if type(row) is np.ndarray else 0, limits, CALL)
    limits = {"total.row": {"special": ["nan"], "values": [0, 9]}}
    assert difference(lambda row: jnp.nansum(jnp.asarray(row)), limits, CALL)


def test_an_answer_that_raises_an_exception_is_noted() -> None:
    def answer(row: Any) -> Any:
        if len(row) < 2:
            raise ValueError("too short")
        return total(row)

    found = difference(answer, {"total.row": {"size": [1, 9]}}, CALL)
    assert found == "total(NumPy float32[1]), where it raises ValueError"


def test_an_answer_that_returns_what_the_channel_cannot_send_is_noted() -> None:
    def answer(row: Any) -> Any:
        if len(row) < 2:
            raise CannotSplit("it returns an object")
        return total(row)

    found = difference(answer, {"total.row": {"size": [1, 9]}}, CALL)
    assert found == "total(NumPy float32[1]), where its result contains more than numbers"


def test_an_answer_that_does_not_reply_in_time_is_not_noted() -> None:
    def answer(row: Any) -> Any:
        raise NoReply("the student's process does not answer")

    assert difference(answer, {"total.row": {"size": [1, 9]}}, CALL) is None


@pytest.mark.parametrize("numbers", [[], [3.0, 1234]])
def test_a_right_answer_is_not_noted(numbers: list[float]) -> None:
    def answer(row: Any) -> Any:
        return sum(np.asarray(row).tolist())

    limits = {"total.row": {"size": [0, 2000], "values": [-1000, 1000], "kinds": ["np", "jnp"]}}
    rng = random.Random(0)
    drawer = InputDrawer(
        total, [CALL], NewInputs(("row",)), parse_limits(limits), numbers, rng
    )  # fmt: skip
    found = find_difference(answer, (total, total_by_halves), [drawer], rng, seconds=1.0)
    assert found.difference is None
    assert found.compared > 10


@pytest.mark.parametrize(("dtype", "is_found"), [("float32", True), ("bfloat16", False)])
def test_rounding_errors_of_16_bit_arguments_are_no_difference(dtype: str, is_found: bool) -> None:
    """An answer that adds in float32 may differ from one that adds in bfloat16."""
    call = RecordedCall("total", (jnp.arange(1, 7, dtype=dtype),), {})
    found = difference(lambda row: 1.004 * total(row), {"total.row": {"values": [1, 9]}}, call)
    assert (found is not None) == is_found


def test_inputs_for_which_right_answers_differ_do_not_count() -> None:
    """The references agree only for rows of numbers from 0 on."""
    limits = {"total.row": {"values": [-9, 9]}}
    references = (total, lambda row: np.abs(np.asarray(row)).sum())
    assert difference(references[1], limits, CALL, references=references) is None


def test_a_condition_keeps_arguments_that_do_not_fit_together_away() -> None:
    def head(row: Any, count: int) -> Any:
        return np.asarray(row)[:count].sum()

    def wrong(row: Any, count: int) -> Any:
        return head(row, count) if count <= len(row) else -1.0

    call = RecordedCall("head", (np.arange(6.0), 3), {})
    limits = {"head.row": {"size": [1, 9]}, "head.count": {"values": [0, 9]}}
    free = NewInputs(("row", "count"))
    assert difference(wrong, limits, call, references=(head, head), inputs=free) is not None
    free = NewInputs(("row", "count"), "count <= len(row)")
    assert difference(wrong, limits, call, references=(head, head), inputs=free) is None


def test_an_answer_that_loses_digits_is_right_if_the_solution_would_lose_them_too() -> None:
    """The difference of two large numbers depends on their last digits."""

    def between(low: Any, high: Any, share: Any) -> Any:
        return low + np.float32(share) * (high - low)

    def with_weights(low: Any, high: Any, share: Any) -> Any:
        return np.float32(1 - share) * low + np.float32(share) * high

    low, high = np.array([-9.0, 7.0], np.float32), np.array([8.0, -9.5], np.float32)
    call = RecordedCall("between", (low, high, 0.5), {})
    limits = {f"between.{name}": {"values": [-10000, 10000]} for name in ("low", "high")}
    limits["between.share"] = {"values": [0, 1]}
    inputs, references = NewInputs(("low", "high", "share")), (between, between)
    assert not difference(with_weights, limits, call, references=references, inputs=inputs)


def test_axes_that_belong_together_keep_the_same_length() -> None:
    calls = [
        RecordedCall("dot", (np.ones(n, np.float32), [1.0] * n, np.ones(2)), {}) for n in (2, 5)
    ]
    limits = parse_limits({"dot.a": {"size": [1, 50]}, "dot.b": {"size": [1, 50]}})

    def dot(a: Any, b: Any, c: Any) -> Any:
        return np.dot(a, b)

    drawer = InputDrawer(dot, calls, NewInputs(("a", "b")), limits, [], random.Random(0))
    drawn = [call for call in (drawer.draw() for _ in range(200)) if call]
    assert all(len(call.args[0]) == len(call.args[1]) for call in drawn)
    assert len({len(call.args[0]) for call in drawn}) > 5
    assert all(len(call.args[2]) == 2 for call in drawn)


def test_calls_of_transformed_answers_are_recorded() -> None:
    calls = RecordedCalls(random.Random(0))

    def note(function: Any, args: Any, kwargs: Any, transforms: Transforms = UNTRANSFORMED) -> None:
        calls.note("total", args, kwargs, transforms)

    original = jax.jit
    with note_transformed(note, lambda value: value is total, __file__):
        assert float(jax.jit(jax.vmap(total))(jnp.ones((2, 3)))[0]) == 3.0
        assert float(jax.grad(total)(jnp.ones(3))[0]) == 1.0
        assert float(jax.jit(lambda x: x + 1)(1.0)) == 2.0
        assert type(without_note(jax.jit(total))) is type(original(total))
        assert unwrap_arguments(type)(jax.jit(total)) is type(original(total))
        in_other_code: dict[str, Any] = {"jax": jax, "total": total}
        exec("jitted = jax.jit(total)", in_other_code)
        assert type(in_other_code["jitted"]) is type(original(total))
    assert jax.jit is original
    assert [call.transforms.names for call in calls.of("total")] == [("vmap", "jit"), ("grad",)]
    again = calls.of("total")[0].transforms.apply(total)
    assert again(jnp.ones((4, 2))).tolist() == [2.0] * 4


def test_recorded_arguments_do_not_change_with_those_of_the_test() -> None:
    calls = RecordedCalls(random.Random(0))
    row, names = np.zeros(3), ["a"]
    calls.note("f", (row, names), {})
    row[0], names[0] = 1.0, "b"
    assert calls.of("f")[0].args[1] == ["a"]
    assert calls.of("f")[0].args[0].tolist() == [0.0, 0.0, 0.0]


def test_results_agree_despite_rounding_but_not_despite_errors() -> None:
    assert agrees({"a": jnp.float32(1.00001)}, [{"a": 1.0}])
    assert not agrees({"a": 1.01}, [{"a": 1.0}])
    assert not agrees([1, 2, 3], [np.array([1, 2])])
    assert not agrees((1, 3), [[1, 2]])
    assert agrees([1.0, jnp.float32(2.0)], [[1.0, 2.0]])
    assert not agrees(lambda: 1, [1])
    assert agrees(float("nan"), [np.nan])
    # Where right answers differ by rounding, the result may, too.
    assert agrees(1.004, [1.0, 1.0009])
    assert not agrees(1.004, [1.0, 1.0])
    assert agrees(1.004, [1.0, 1.0], atol=0.005)
    assert agrees([1.01, 0.0], [[1.0, 0.0]], rounding=2.0**-7)  # As in bfloat16.
    assert not agrees([1.1, 0.0], [[1.0, 0.0]], rounding=2.0**-7)


@pytest.mark.parametrize("references", [(1.0, 2.0), ([1], [1, 2]), (total, total)])
def test_right_answers_that_disagree_raise_an_exception(references: Any) -> None:
    with pytest.raises(NoAgreement):
        agrees(1.0, references)


def test_numbers_in_code_include_computed_ones() -> None:
    assert numbers_in("x = 2**10 + n % (10**6 + 3)\ny = -7.5") == [
        2, 3, 6, 7.5, 10, 1024, 1000000, 1000003,
    ]  # fmt: skip
    assert numbers_in("x = 10**10**10, True, 1 << 10**9, 1 / 0, 5 % 3") == [
        0, 1, 3, 5, 9, 10, 10**9, 10**10,
    ]  # fmt: skip
    assert numbers_in("not python (") == []


def test_a_comparison_survives_the_way_to_the_judge() -> None:
    limits = parse_limits({"f.x": {"size": [1, 5], "values": [0, 1], "special": ["nan"]}})
    inputs = {"f": NewInputs(("x",), "x > 0")}
    comparison = ReferenceComparison(inputs, ["a"], ["b"], limits, [0.5], 1.0)
    again = ReferenceComparison.from_data(json.loads(json.dumps(comparison.to_data())))
    assert again.functions == comparison.functions
    assert tuple(again.limits) == limits
    assert isinstance(again.limits[0], InputLimits)


def test_a_function_whose_calls_could_not_be_compared_is_reported() -> None:
    def silent(row: Any) -> Any:
        raise NoReply("the student's process does not answer")

    source = "def total(row): return sum(row)"
    comparison = ReferenceComparison(
        {"total": NewInputs(("row",)), "other": NewInputs(("row",))},
        before=[],
        references=[source, source],
        limits=parse_limits({"total.row": {"size": [1, 9]}}),
        numbers=[],
        seconds=0.1,
    )
    calls = RecordedCalls(random.Random(0))
    calls.note("total", ([1.0, 2.0],), {})
    for answer, never_compared in ((sum, ("other",)), (silent, ("total", "other"))):
        names = {"total": answer, "other": answer}
        found = compare_with_references(comparison, names, calls, random.Random(0))
        assert found.difference is None
        assert found.never_compared == never_compared


# ------------------------------------------------------------ the whole grader

NEW_INPUTS = """  limits:
    running_total.row: {size: [1, 500], values: [-9, 9], kinds: [np, jnp, list]}
  new_inputs:
    running_total: [row]
---
"""
RIGHT = "def running_total(row):\n    return jnp.asarray(np.cumsum(np.asarray(row)))"
WRONG = """\
def running_total(row):
    row = jnp.asarray(row)
    # The number 321 makes the grader look longer, so it finds another length even if it is busy.
    return jnp.cumsum(row) if len(row) in (3, 7) else 321 * row
"""


@pytest.fixture
def assignment() -> Assignment:
    """Return the small assignment with JAX, whose second task compares answers."""
    source = (harness.JAX_SAMPLE / "source.md").read_text(encoding="utf-8")
    head, separator, body = source.partition("\n---\n")
    parsed = parse_assignment(f"{head}\n{NEW_INPUTS}{body}", "jax-sample")
    assert separator
    return replace(parsed, right_answers={"running-total": (RIGHT,)})


def notes_on(assignment: Assignment, answer: str, tmp_path: Path) -> list[str]:
    notebook = solution_notebook(assignment)
    for cell in notebook.cells:
        if cell.id == "running-total":
            cell.source = answer
    result = run_hidden_tests(
        ParsedNotebook.from_nbformat(notebook), assignment, LIMITS, cache=tmp_path
    )
    assert all(found.points == found.max_points for found in result.points)
    assert not result.tampering
    return list(result.odd)


@harness.needs_sandbox
def test_a_wrong_answer_that_passes_the_tests_gets_a_note(
    assignment: Assignment, tmp_path: Path
) -> None:
    assert notes_on(assignment, RIGHT.replace("np.cumsum", "jnp.cumsum"), tmp_path) == []
    (note,) = notes_on(assignment, WRONG, tmp_path)
    expected = (
        r"the answer to running-total passes the tests, but .* no test uses: running_total\(.*"
    )
    assert re.fullmatch(expected, note)


@pytest.mark.parametrize(("same_types", "count"), [(False, 0), (True, 1)])
@harness.needs_sandbox
def test_a_result_of_another_type_gets_a_note_if_the_assignment_says_so(
    assignment: Assignment, tmp_path: Path, same_types: bool, count: int
) -> None:
    inputs = {"running_total": NewInputs(("row",), same_types=same_types)}
    changed = replace(assignment, new_inputs=inputs)
    answer = RIGHT.replace("jnp.asarray(np.cumsum(np.asarray(row)))", "np.cumsum(np.asarray(row))")
    notes = notes_on(changed, answer, tmp_path)
    assert len(notes) == count
    assert all(one.endswith("where the type or dtype of a result is wrong") for one in notes)


@harness.needs_sandbox
def test_new_inputs_that_no_answer_could_get_are_a_problem_of_the_assignment(
    assignment: Assignment, tmp_path: Path
) -> None:
    impossible = {"running_total": NewInputs(("row",), "len(row) > 1000")}
    (problem,) = find_solution_problems(replace(assignment, new_inputs=impossible), tmp_path)
    assert problem == (
        "the answer to running-total passes the tests, but could not be compared with right "
        "answers for inputs that no test uses: running_total"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{other: [row]}", "a key of 'new_inputs' must be a function of a solution, got 'other'"),
        ("{running_total: [x]}", "of 'running_total' must be some of ['row'], got 'x'"),
        ("{running_total: row}", "must be a list of arguments, or a mapping with the keys change"),
        ("[running_total]", "'new_inputs' must be a mapping, got ['running_total']"),
        (
            "{running_total: {change: [row], atol: -1}}",
            "atol of 'running_total' must be a number from 0 on, got -1",
        ),
        (
            "{running_total: {change: [row], same_types: 1}}",
            "same_types of 'running_total' must be true or false, got 1",
        ),
        (
            "{running_total: {change: [row], only_if: 'row >'}}",
            "only_if of 'running_total' must be an expression of its arguments, got 'row >'",
        ),
    ],
)
def test_wrong_new_inputs_are_refused(given: str, message: str) -> None:
    source = (harness.JAX_SAMPLE / "source.md").read_text(encoding="utf-8")
    head, _, body = source.partition("\n---\n")
    with pytest.raises(SourceError, match=re.escape(message)):
        parse_assignment(f"{head}\n  new_inputs: {given}\n---\n{body}", "jax-sample")
