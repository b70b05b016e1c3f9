"""The exercises for chapter 09, NaNs and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_returns,
    assert_returns_op_by_op,
    assert_returns_under_grad,
    assert_returns_under_jit,
    call,
)
from jaxbits.book.exercises.base import Exercise


def speed(height: jax.Array) -> jax.Array:
    """Return sqrt(2 * 9.81 * height) where the height is above 0, and 0 elsewhere."""
    raise NotImplementedError


def solve_speed(height: jax.Array) -> jax.Array:
    """Pass the square root a harmless number wherever its result is not used."""
    falls = height > 0
    safe = jnp.where(falls, height, 1.0)
    return jnp.where(falls, jnp.sqrt(2 * 9.81 * safe), 0.0)


def verify_speed(answer: Callable[..., Any]) -> None:
    """Check values and gradients at heights above, at, and below zero, and values under jit."""
    heights = jnp.array([-1.0, 0.0, 1e-6, 5.0])
    above = np.sqrt(2 * 9.81 * np.array([1e-6, 5.0], np.float32))
    right = np.array([0, 0, *above], np.float32)
    assert_returns(answer, heights, expected=right)
    assert_returns_under_jit(answer, heights, expected=right)
    slopes = np.array([0, 0, *(9.81 / above)], np.float32)
    gradient = jax.grad(lambda h: answer(h).sum())
    for some in (slice(3, 4), slice(0, 1), slice(1, 2), slice(2, 3)):
        seen = np.asarray(call(answer, heights[some], how="under grad, ", through=gradient))
        at = f"at a height of {float(heights[some][0]):g}, "
        if np.isnan(seen).any():
            raise AnswerRejected(f"{at}the value is right, but the gradient is NaN")
        if not np.allclose(seen, slopes[some], rtol=1e-4):
            got = f"{format_value(slopes[some][0])}, got {format_value(seen[0])}"
            raise AnswerRejected(f"{at}the gradient must be {got}")


def masked_mean(x: jax.Array, keep: jax.Array) -> jax.Array:
    """Return the mean of x where keep is True, or 0.0 if keep is False everywhere."""
    raise NotImplementedError


def solve_masked_mean(x: jax.Array, keep: jax.Array) -> jax.Array:
    """Replace the masked elements before you compute anything, and never divide by zero."""
    kept = jnp.where(keep, x, 0.0)
    return kept.sum() / jnp.maximum(keep.sum(), 1)


def verify_masked_mean(answer: Callable[..., Any]) -> None:
    """Test masked and kept NaNs and infinities, an empty mask, and gradients."""
    x = jnp.array([1.0, 2.0, 6.0])
    some, none = jnp.array([True, False, True]), jnp.zeros(3, bool)
    assert_returns(answer, x, some, expected=3.5)
    nan, inf = jnp.array([1.0, jnp.nan, 6.0]), jnp.array([1.0, jnp.inf, 6.0])
    assert_returns(answer, nan, some, expected=3.5, why="the NaN is masked")
    assert_returns(answer, inf, some, expected=3.5, why="the infinity is masked")
    assert_returns(answer, x, none, expected=0.0, why="nothing is kept")
    kept = jnp.array([1.0, jnp.nan, 6.0])
    assert_returns(
        answer, kept, ~none, expected=np.float32("nan"), why="a NaN that is kept must stay"
    )
    spike = jnp.array([1.0, jnp.inf, 6.0])
    assert_returns(answer, spike, ~none, expected=jnp.inf, why="an infinity that is kept must stay")
    why = "0 times NaN is NaN, unless XLA happens to compile the product into a select"
    assert_returns_op_by_op(answer, nan, some, expected=3.5, why=why)
    if _has_a_dot_of_booleans(call(answer, nan, some, through=jax.make_jaxpr(answer)).jaxpr):
        raise AnswerRejected(f"a dot product with keep multiplies by keep: {why}")
    assert_returns_under_jit(answer, nan, some, expected=3.5)
    half, nothing = np.array([0.5, 0, 0.5], np.float32), np.zeros(3, np.float32)
    for data, mask, expected in ((nan, some, half), (inf, some, half), (nan, none, nothing)):
        assert_returns_under_grad(answer, data, mask, expected=expected)


def _has_a_dot_of_booleans(jaxpr: Any) -> bool:
    dots = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "dot_general"]
    return any(variable.aval.dtype == bool for dot in dots for variable in dot.invars)


def not_finite(tree: Any) -> list[str]:
    """Return the paths to those arrays in a tree that contain a NaN or an infinity."""
    raise NotImplementedError


def solve_not_finite(tree: Any) -> list[str]:
    """Check every number of every leaf, because their sum may overflow."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    bad = [path for path, leaf in leaves if not jnp.isfinite(leaf).all()]
    return [jax.tree_util.keystr(path) for path in bad]


def verify_not_finite(answer: Callable[..., Any]) -> None:
    """Test NaN, infinity, large numbers, integers, a nested tree, and an empty one."""
    good = {"b": jnp.zeros(2), "w": jnp.ones((2, 2))}
    assert_returns(answer, good, expected=[])
    assert_returns(answer, {**good, "w": jnp.array([1.0, jnp.nan])}, expected=["['w']"])
    assert_returns(
        answer,
        {**good, "b": jnp.array([jnp.inf, 0])},
        expected=["['b']"],
        why="an infinity is not finite",
    )
    both = {"b": jnp.array([jnp.inf, -jnp.inf]), "w": jnp.array([-jnp.inf])}
    assert_returns(answer, both, expected=["['b']", "['w']"])
    large = {"w": jnp.full(4, 3e38)}
    assert_returns(
        answer, large, expected=[], why="each number is finite, although their sum is not"
    )
    deep = {"layers": [{"w": jnp.ones(2)}, {"w": jnp.array([jnp.nan])}], "step": jnp.int32(3)}
    assert_returns(answer, deep, expected=["['layers'][1]['w']"])
    assert_returns(answer, {}, expected=[])


EXERCISES = (
    Exercise(
        id="nans/1",
        title="a root with a gradient everywhere",
        stub=speed,
        hints=(
            "jnp.where gives the value. Now take the gradient at 0 and at -1. Which branch of the "
            "where does the NaN come from?",
            "The root must never receive a height of 0 or less, even where its result is not used.",
            ("Take the root of safe = jnp.where(height > 0, height, 1.0), and select once more."),
        ),
        verify=verify_speed,
        solution=solve_speed,
    ),
    Exercise(
        id="nans/2",
        title="a mean without the masked elements",
        stub=masked_mean,
        hints=(
            (
                "Do not mask with x * keep, because 0 times NaN is NaN, and so is 0 times "
                "infinity. With booleans, XLA may compile the product into a select that hides "
                "this, but nothing guarantees it."
            ),
            "Select first, with jnp.where(keep, x, 0.0), and then take the sum.",
            "If nothing is kept, you divide 0 by 0. jnp.maximum(count, 1) avoids that.",
        ),
        verify=verify_masked_mean,
        solution=solve_masked_mean,
    ),
    Exercise(
        id="nans/3",
        title="which parameters are not finite",
        stub=not_finite,
        hints=(
            "jnp.isfinite is False for NaN and for both infinities. It also takes integers.",
            "jax.tree_util.tree_flatten_with_path(tree)[0] is a list of pairs (path, leaf).",
            "jax.tree_util.keystr(path) turns a path into a string. Call .all() on the booleans, "
            "and do not add up the numbers, because their sum may overflow.",
        ),
        verify=verify_not_finite,
        solution=solve_not_finite,
    ),
)
