"""The exercises for chapter 13, pytrees and vmap."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_returns,
    assert_returns_under_grad,
    assert_returns_under_jit,
    call,
)
from jaxbits.book.exercises.base import Exercise


def penalty(params: Any) -> jax.Array:
    """Return the sum of the squares of all arrays with two or more axes."""
    raise NotImplementedError


def solve_penalty(params: Any) -> jax.Array:
    """Sum the squares of all matrices. None is not a leaf, so it needs no check."""
    matrices = [leaf for leaf in jax.tree.leaves(params) if jnp.ndim(leaf) >= 2]
    return sum((jnp.sum(w**2) for w in matrices), start=jnp.float32(0))


def verify_penalty(answer: Callable[..., Any]) -> None:
    """Test nested trees, None, biases, numbers, and a four-axis kernel, also under jit and grad."""
    two, bias = jnp.full((2, 2), 2.0), jnp.ones(3)
    assert_returns(answer, {"w": two}, expected=np.float32(16))
    assert_returns(
        answer, {"w": two, "b": bias}, expected=np.float32(16), why="a bias has only one axis"
    )
    nested = {"enc": [{"w": two, "b": None}, ({"w": two},)], "scale": 3.0}
    try:
        assert_returns(answer, nested, expected=np.float32(32), why="the tree is nested")
    except AnswerRejected as wrong:
        missing = re.match(r"'(float|NoneType)' object has no attribute", str(wrong.__cause__))
        if missing is None:
            raise
        if missing[1] == "NoneType":
            raise AnswerRejected(
                "your function looks up the number of axes of None. None is not a leaf of a "
                "pytree, so use jax.tree.leaves, which omits it"
            ) from wrong.__cause__
        raise AnswerRejected(
            f"your function raises AttributeError: {wrong.__cause__}. A leaf may be a "
            "Python number, so use jnp.ndim, which also accepts numbers"
        ) from wrong.__cause__
    assert_returns(
        answer, jnp.ones((2, 2, 1, 3)), expected=np.float32(12), why="the tree is a single array"
    )
    nothing = call(answer, {"b": bias})
    if np.shape(nothing) != () or nothing != 0:
        raise AnswerRejected(
            f"for a tree without a matrix, the result must be 0, got {format_value(nothing)}"
        )
    assert_returns_under_jit(answer, nested, expected=np.float32(32))
    for name, matrix in (("twos", two), ("zeros", jnp.zeros((2, 2)))):
        assert_returns_under_grad(
            answer,
            {"w": matrix, "b": bias},
            expected={"w": np.asarray(2 * matrix), "b": np.zeros(3, np.float32)},
            why="a norm has no gradient at zero, so do not compute a norm and then square it"
            if name == "zeros"
            else "",
        )


def distances(points: jax.Array, centers: jax.Array) -> jax.Array:
    """Return a table of squared distances, with a row per point and a column per center."""
    raise NotImplementedError


def solve_distances(points: jax.Array, centers: jax.Array) -> Any:
    """Map over the centers to get one row, and then over the points to stack the rows."""

    def between(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.sum((a - b) ** 2)

    row = jax.vmap(between, in_axes=(None, 0))
    return jax.vmap(row, in_axes=(0, None))(points, centers)


def verify_distances(answer: Callable[..., Any]) -> None:
    """Check the program's size and the table, also under jit and grad and for distant points."""
    points = jnp.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])
    centers = jnp.array([[0.0, 0.0], [1.0, 0.0]])
    expected = np.array([[0, 1], [25, 20], [2, 1]], np.float32)
    seen = call(answer, points, centers)
    shape = getattr(seen, "shape", None)
    if shape == (2, 3):
        raise AnswerRejected(
            "for 3 points and 2 centers, the result must be a 3 × 2 table, got a 2 × 3 "
            "table, because the outer vmap maps over the centers"
        )
    if shape != (3, 2):
        what = f"an array of shape {shape}" if shape is not None else format_value(seen)
        raise AnswerRejected(
            f"for 3 points and 2 centers, the result must be a 3 × 2 table, got {what}"
        )
    if np.allclose(seen, np.sqrt(expected)):
        raise AnswerRejected(
            "your function returns the distances, but the task asks for their squares"
        )
    assert_returns(answer, points, centers, expected=expected)
    same = call(answer, points, points)
    if getattr(same, "shape", None) != (3, 3):
        raise AnswerRejected(
            "for 3 points and 3 centers, the result must be a 3 × 3 table of all pairs, "
            f"got an array of shape {np.shape(same)}"
        )
    assert_returns_under_jit(answer, points, centers, expected=expected)
    gradient = jax.grad(lambda *given: answer(*given).sum())
    slope = call(answer, points, centers, how="under grad, ", through=gradient)
    if np.isnan(slope).any():
        raise AnswerRejected(
            "the gradient is NaN where a point lies on a center. A square root has no "
            "gradient at 0, so do not compute a root and then square it"
        )
    if not np.allclose(slope, 2 * (2 * points - centers.sum(0))):
        raise AnswerRejected(
            "the gradient of the sum of the table must be "
            f"{np.asarray(2 * (2 * points - centers.sum(0))).tolist()}, got "
            f"{np.asarray(slope).tolist()}"
        )
    far = jnp.array([[1000.0, 1000.0], [1000.25, 1000.0]])
    assert_returns(
        answer,
        far,
        far,
        expected=np.array([[0, 0.0625], [0.0625, 0]], np.float32),
        why="subtract before you square, because a² - 2ab + b² suffers from cancellation in "
        "float32",
    )
    if _equations(answer, 12, 8) > _equations(answer, 3, 2):
        raise AnswerRejected(
            "the program grows with the number of points or centers, so it contains an unrolled "
            "loop; use jax.vmap"
        )


def _equations(answer: Callable[..., Any], points: int, centers: int) -> int:
    """Return the number of equations in the program for the given numbers of points and centers."""
    program = jax.make_jaxpr(answer)(jnp.ones((points, 2)), jnp.ones((centers, 2)))
    return str(program).count(" = ")


def standardize(x: jax.Array) -> jax.Array:
    """Return one example minus the batch's mean, divided by the batch's standard deviation."""
    raise NotImplementedError


def solve_standardize(x: jax.Array) -> Any:
    """Average the values over the batch, and then average their squared deviations."""
    centered = x - lax.pmean(x, "batch")
    return centered / jnp.sqrt(lax.pmean(centered**2, "batch"))


def verify_standardize(answer: Callable[..., Any]) -> None:
    """Test a batch under vmap and jit, features far from zero, and features that vary little."""
    rows = jnp.array([[1.0, 10.0], [2.0, 30.0], [6.0, 20.0]])
    expected = (rows - rows.mean(0)) / rows.std(0)
    mapped = jax.vmap(lambda x: answer(x), axis_name="batch")
    seen = call(answer, rows, how="under vmap, ", through=mapped)
    if getattr(seen, "shape", None) != rows.shape:
        raise AnswerRejected(
            "each example has the shape (2,) and must keep it, but for a batch of 3, vmap "
            f"returns {_form(seen)}"
        )
    own = (rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True)
    if np.allclose(seen, own, atol=1e-3):
        raise AnswerRejected(
            "your function standardizes each example separately. Inside vmap, x is a "
            "single example, so x.mean() averages its features"
        )
    if np.allclose(seen, rows - rows.mean(0), atol=1e-5):
        raise AnswerRejected(
            "your function subtracts the mean but does not divide by the standard deviation"
        )
    if np.allclose(seen, expected * np.sqrt(2 / 3), atol=1e-5):
        raise AnswerRejected(
            "your function divides by n - 1 in the variance. Divide by n, as jnp.std does"
        )
    if np.allclose(seen, (rows - rows.mean(0)) / rows.std(1).mean(), atol=1e-5):
        raise AnswerRejected(
            "your function divides by the mean of the examples' own standard deviations. Average "
            "the squared deviations of each feature, not the standard deviations of the examples"
        )
    _must_agree(seen, expected, rows, 1e-5)
    # The mean of these four examples is exact, but float32 stores their squares in steps of 8.
    far = jnp.array([[1.0, 10.0], [2.0, 30.0], [6.0, 20.0], [7.0, 20.0]]) + 10_000
    _must_agree(
        call(answer, far, how="under vmap, ", through=mapped),
        (far - far.mean(0)) / far.std(0),
        far,
        1e-3,
        "the mean of the squares minus the square of the mean suffers from cancellation in "
        "float32. Subtract the mean first, and average the squares of the differences",
    )
    small = 1e-6 * rows
    _must_agree(
        call(answer, small, how="under vmap, ", through=mapped),
        expected,
        small,
        1e-3,
        "an epsilon in the denominator outweighs a small standard deviation, so do not add one",
    )
    jitted = call(answer, rows, how="under jit of vmap, ", through=jax.jit(mapped))
    if not np.allclose(jitted, expected, atol=1e-5):
        raise AnswerRejected(
            f"under jit, the result must be {_rounded(expected)}, got {_rounded(jitted)}"
        )


def _must_agree(seen: Any, expected: Any, rows: Any, error: float, why: str = "") -> None:
    if not np.allclose(seen, expected, rtol=0, atol=error):
        raise AnswerRejected(
            f"for the batch {_rounded(rows)}, the result must be {_rounded(expected)}, got "
            f"{_rounded(seen)}{': ' + why if why else ''}"
        )


def _rounded(array: Any) -> str:
    """Format an array with four significant digits, or without decimals for large numbers."""
    rows = np.asarray(array, np.float64).tolist()
    return (
        "["
        + ", ".join(
            "[" + ", ".join(f"{n:.4g}" if n < 1000 else f"{n:.0f}" for n in row) + "]"
            for row in rows
        )
        + "]"
    )


def _form(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return format_value(value) if shape is None else f"an array of shape {shape}"


EXERCISES = (
    Exercise(
        id="pytrees/1",
        title="a penalty on matrices only",
        stub=penalty,
        hints=(
            "You do not need recursion, because one JAX function returns all leaves of any pytree.",
            "jax.tree.leaves(params) omits None. A leaf may be a Python number, which has no "
            "ndim attribute, but jnp.ndim(leaf) returns 0 for a number.",
            "Sum jnp.sum(leaf**2) over all leaves for which jnp.ndim(leaf) >= 2. Start the sum at "
            "jnp.float32(0), in case there are no such leaves.",
        ),
        verify=verify_penalty,
        solution=solve_penalty,
    ),
    Exercise(
        id="pytrees/2",
        title="a table of distances",
        stub=distances,
        hints=(
            "First write a function for the squared distance between one point and one center. "
            "Then apply jax.vmap to it twice.",
            "jax.vmap with in_axes=(None, 0) keeps the point fixed and maps over the centers. The "
            "mapped function returns one row of the table.",
            "Call the mapped function row. To get the table, map row over the points with "
            "jax.vmap(row, in_axes=(0, None))(points, centers).",
        ),
        verify=verify_distances,
        solution=solve_distances,
    ),
    Exercise(
        id="pytrees/3",
        title="standardize over a named axis",
        stub=standardize,
        hints=(
            "x is one example. Which functions see all examples along a mapped axis?",
            'lax.pmean(x, "batch") is the mean over the batch, feature by feature.',
            "The variance is also a mean. Subtract the first mean from x, square the difference, "
            "and average the squares. (Subtracting the square of the mean from the mean of x**2 "
            "is inaccurate in float32, because almost all digits cancel.)",
        ),
        verify=verify_standardize,
        solution=solve_standardize,
    ),
)
