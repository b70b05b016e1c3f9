"""Test the wrong answers that the grader derives from the limits of inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxbits_grader.authoring.assignment_source import SourceError
from jaxbits_grader.authoring.input_limits import LimitError, parse_limits
from jaxbits_grader.authoring.narrowed_inputs import _narrowed
from test_assignment_source import VALID_SOURCE
from test_validation import problems, validate_source


def narrowed(change: str, value: Any, **settings: Any) -> Any:
    """Return what a function receives instead of a value."""
    return _narrowed(lambda value: value, "value", change, **settings)(value)


@pytest.mark.parametrize("kind", [list, tuple, np.array, jnp.array])
def test_later_items_are_replaced_by_the_first(kind: Any) -> None:
    seen = narrowed("shorten", kind([5, 6, 7, 8]), most=2, axis=0)
    assert type(seen) is type(kind([5]))
    assert list(seen) == [5, 6, 5, 5]
    assert list(narrowed("shorten", kind([5, 6]), most=2, axis=0)) == [5, 6]


def test_later_items_on_another_axis_are_replaced() -> None:
    for rows in ([[1, 2, 3], [4, 5, 6]], np.array([[1, 2, 3], [4, 5, 6]])):
        seen = narrowed("shorten", rows, most=2, axis=1)
        assert np.array_equal(seen, [[1, 2, 1], [4, 5, 4]])


@pytest.mark.parametrize("number", [7, 7.0, np.float32(7), np.int8(7), jnp.float32(7)])
def test_clipped_numbers_keep_their_type(number: Any) -> None:
    for low, high, expected in ((0, 4, 4), (9, 12, 9), (0, 9, 7)):
        seen = narrowed("clip", {"a": [number]}, low=low, high=high)["a"][0]
        assert seen == expected
        assert type(seen) is type(number)
        assert getattr(seen, "dtype", None) == getattr(number, "dtype", None)


def test_integers_are_clipped_to_integers_within_the_ends() -> None:
    for kind in (int, np.int32, jnp.int32):
        assert narrowed("clip", kind(1), low=1.1, high=9.0) == 2
        assert narrowed("clip", kind(9), low=1, high=8.9) == 8


def test_gradient_at_an_end_is_that_of_the_function() -> None:
    double = _narrowed(lambda x: 2 * x, "x", "clip", low=0.0, high=3.0)
    assert jax.grad(double)(3.0) == 2
    assert jax.grad(double)(4.0) == 0


def test_results_are_changed_instead_of_arguments() -> None:
    product = _narrowed(lambda a, b: a * b, "return", "clip", low=0.0, high=10.0)
    assert (product(2.0, 4.0), product(3.0, b=4.0), product(-1.0, 1.0)) == (8.0, 10.0, 0.0)
    assert jax.grad(product)(jnp.float32(2), 4.0) == 4


def test_numbers_that_an_array_cannot_hold_do_not_clip_it() -> None:
    assert narrowed("clip", np.uint8([200]), low=-5, high=1000)[0] == 200
    assert int(narrowed("clip", jnp.uint32([2**32 - 1]), low=0, high=2**32 - 1)[0]) == 2**32 - 1


@pytest.mark.parametrize("kind", [float, np.float32, jnp.float32])
def test_infinity_is_not_clipped(kind: Any) -> None:
    assert narrowed("clip", kind("inf"), low=-5, high=5) == np.inf
    assert narrowed("clip", kind("-inf"), low=-5, high=5) == -np.inf


@pytest.mark.parametrize(
    ("change", "settings", "before", "after"),
    [
        ("round", {"step": 0.5}, 1.3, 1.5),
        ("forget", {"what": "nan"}, float("nan"), 0.0),
        ("forget", {"what": "inf"}, float("inf"), 1.0),
    ],
)
def test_numbers_change(change: str, settings: dict[str, Any], before: float, after: float) -> None:
    for kind in (float, np.float32, jnp.float32):
        assert narrowed(change, kind(before), **settings) == after


def test_negative_zero_loses_its_sign() -> None:
    assert not np.signbit(narrowed("forget", np.float32(-0.0), what="-0.0"))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 3),
        ("list", [3]),
        ("np", np.ones(2)),
        ("np.int32", {"a": np.int32(1)}),
        ("jnp.float32", jnp.ones(2)),
    ],
)
def test_a_kind_is_refused(kind: str, value: Any) -> None:
    with pytest.raises(TypeError, match=kind):
        narrowed("refuse kind", value, kind=kind)
    assert narrowed("refuse kind", "text", kind=kind) == "text"


def test_a_size_is_refused() -> None:
    for value in ([1, 2], np.ones(2), "ab"):
        with pytest.raises(ValueError, match="size 2"):
            narrowed("refuse size", value, size=2, axis=0)
    assert narrowed("refuse size", np.float32(2), size=0, axis=0) == 2


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ([], "must be a mapping"),
        ({"load": {"size": [1, 3]}}, "function.argument, got 'load'"),
        ({"load.holds": {"length": 3}}, "with some of the keys size, values"),
        ({"load.holds": {"size": [3, 1]}}, r"the smallest and the largest, got \[3, 1\]"),
        ({"load.holds": {"size": 3}}, "the size of 'load.holds' must be a list, got 3"),
        ({"load.holds": {"kinds": "int"}}, "must be a list, got 'int'"),
        ({"load.holds": {"step": 0}}, "a positive number, got 0"),
        ({"load.holds": {"kinds": ["float31!"]}}, "must not contain 'float31!'"),
        ({"load.holds": {"special": ["zero"]}}, "must not contain 'zero'"),
        ({"load.return": {"size": [1, 3]}}, "some of the keys values, step, special, got"),
    ],
)
def test_wrong_limits_are_explained(limits: Any, message: str) -> None:
    with pytest.raises(LimitError, match=message):
        parse_limits(limits)


def with_limits(text: str) -> str:
    return VALID_SOURCE.replace("  tasks:", f"  limits:\n    {text}\n  tasks:")


def test_prove_reports_limits_that_no_test_reaches(tmp_path: Path) -> None:
    source = with_limits("load.holds: {size: [2, 40], values: [0, 9], kinds: [list, tuple]}")
    reported = problems(validate_source(tmp_path, text=source))
    assert [kind for kind, _ in reported] == ["wrong"] * 4, reported


def test_prove_reports_results_that_no_test_reaches(tmp_path: Path) -> None:
    attempts = validate_source(tmp_path, text=with_limits("load.return: {values: [0, 5000]}"))
    wrong = [attempt for attempt in attempts if "its result" in attempt.description]
    assert [one.description for one in wrong] == [
        "load clips its result below 1",
        "load clips its result above 4500",
    ]
    assert [kind for kind, _ in problems(attempts)] == ["wrong", "wrong"]


def test_prove_accepts_limits_that_tests_reach(tmp_path: Path) -> None:
    attempts = validate_source(tmp_path, text=with_limits("load.holds: {kinds: [list, int]}"))
    assert problems(attempts) == []
    found = [attempt.description for attempt in attempts if "holds" in attempt.description]
    assert found == ["load does not accept list for holds", "load does not accept int for holds"]


def test_limits_of_unknown_functions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="names 'unload', which no answer defines"):
        validate_source(tmp_path, text=with_limits("unload.holds: {size: [1, 2]}"))


def test_limits_of_unknown_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="must be one of holds, got 'crates'"):
        validate_source(tmp_path, text=with_limits("load.crates: {size: [1, 2]}"))
