"""The exercises of chapter 13, pytrees and transformations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import (
    NotYet,
    call,
    returns,
    returns_under_jit,
    show_kind,
)


def penalty(params: Any) -> jax.Array:
    """Return the sum of the squares of all arrays with two axes or more."""
    raise NotImplementedError


def solve_penalty(params: Any) -> jax.Array:
    """Ask each leaf how many axes it has; None is no leaf, and needs no question."""
    matrices = [leaf for leaf in jax.tree.leaves(params) if jnp.ndim(leaf) >= 2]
    return sum((jnp.sum(w**2) for w in matrices), start=jnp.float32(0))


def verify_penalty(answer: Callable[..., Any]) -> None:
    """Ask for nested trees, None, biases, a kernel of four axes, jit and grad."""
    two, bias = jnp.full((2, 2), 2.0), jnp.ones(3)
    returns(answer, {"w": two}, expected=np.float32(16))
    returns(answer, {"w": two, "b": bias}, expected=np.float32(16), why="a bias has one axis")
    nested = {"enc": [{"w": two, "b": None}, ({"w": two},)], "scale": 3.0}
    returns(answer, nested, expected=np.float32(32), why="the tree is nested")
    returns(answer, jnp.ones((2, 2, 1, 3)), expected=np.float32(12), why="four axes, one leaf")
    nothing = call(answer, {"b": bias})
    if np.shape(nothing) != () or nothing != 0:
        raise NotYet(f"where there is no matrix, it should be 0, is {show_kind(nothing)}")
    returns_under_jit(answer, nested, expected=np.float32(32))
    slope = call(jax.grad(lambda w: answer({"w": w, "b": bias})), two, how="under grad, ")
    if not np.allclose(slope, 4.0):
        raise NotYet(f"the gradient of a matrix of twos is 4 everywhere, here it is {slope}")


def distances(points: jax.Array, centres: jax.Array) -> jax.Array:
    """Return the table of squared distances, a row for each point."""
    raise NotImplementedError


def solve_distances(points: jax.Array, centres: jax.Array) -> jax.Array:
    """Map over the centres for one point, then over the points: the outer map makes the rows."""

    def between(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.sum((a - b) ** 2)

    row = jax.vmap(between, in_axes=(None, 0))
    table: jax.Array = jax.vmap(row, in_axes=(0, None))(points, centres)
    return table


def verify_distances(answer: Callable[..., Any]) -> None:
    """Ask for other numbers of points than of centres, equal ones, jit and grad."""
    points = jnp.array([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])
    centres = jnp.array([[0.0, 0.0], [1.0, 0.0]])
    expected = np.array([[0, 1], [25, 20], [2, 1]], np.float32)
    seen = call(answer, points, centres)
    shape = getattr(seen, "shape", None)
    if shape == (2, 3):
        raise NotYet("it returns a 2 × 3 table for 3 points and 2 centres: the outer map is over "
                     "the centres")  # fmt: skip
    if shape != (3, 2):
        raise NotYet(f"for 3 points and 2 centres it should be a 3 × 2 table, is {show_kind(seen)}")
    returns(answer, points, centres, expected=expected)
    same = call(answer, points, points)
    if getattr(same, "shape", None) != (3, 3):
        raise NotYet("for 3 points and 3 centres it should be a 3 × 3 table: all pairs")
    returns_under_jit(answer, points, centres, expected=expected)
    slope = call(jax.grad(lambda p: answer(p, centres).sum()), points, how="under grad, ")
    if np.isnan(slope).any():
        raise NotYet("the gradient is NaN where a point lies on a centre: a square root has no "
                     "slope at 0, so don't take one to square it again")  # fmt: skip
    if not np.allclose(slope, 2 * (2 * points - centres.sum(0))):
        raise NotYet(f"the gradient of the sum of all distances is {np.asarray(slope).tolist()}")


def standardise(x: jax.Array) -> jax.Array:
    """Return one example minus the batch's mean, over the batch's standard deviation."""
    raise NotImplementedError


def solve_standardise(x: jax.Array) -> jax.Array:
    """Two means across the batch: of the values, then of the squared distances from it."""
    centred = x - lax.pmean(x, "batch")
    scaled: jax.Array = centred / jnp.sqrt(lax.pmean(centred**2, "batch"))
    return scaled


def verify_standardise(answer: Callable[..., Any]) -> None:
    """Ask for a batch under vmap, for jit, and for features that are not mixed."""
    rows = jnp.array([[1.0, 10.0], [2.0, 30.0], [6.0, 20.0]])
    expected = (rows - rows.mean(0)) / rows.std(0)
    mapped = jax.vmap(lambda x: answer(x), axis_name="batch")
    seen = call(mapped, rows, how="under vmap, ")
    if getattr(seen, "shape", None) != rows.shape:
        raise NotYet(f"each example should keep its shape (2,), under vmap it is {show_kind(seen)}")
    own = (rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True)
    if np.allclose(seen, own, atol=1e-5):
        raise NotYet("it standardises each example by itself: x.mean() sees one example only")
    if np.allclose(seen, rows - rows.mean(0), atol=1e-5):
        raise NotYet("the mean is taken off; the division by the standard deviation is missing")
    if not np.allclose(seen, expected, atol=1e-5):
        raise NotYet(f"for the batch {show_kind(rows)} it returns {show_kind(seen)}, should be "
                     f"{show_kind(expected)}")  # fmt: skip
    jitted = call(jax.jit(mapped), rows, how="under jit of vmap, ")
    if not np.allclose(jitted, expected, atol=1e-5):
        raise NotYet("under jit it returns something else than without")


EXERCISES = (
    Exercise(
        id="pytrees/1",
        title="a penalty on matrices only",
        stub=penalty,
        hints=(
            "You need no recursion: one function of JAX gives you all leaves of any tree.",
            "jax.tree.leaves(params) leaves out None; jnp.ndim(leaf) is 0 for a number.",
            "Sum jnp.sum(leaf**2) over the leaves with jnp.ndim(leaf) >= 2, from jnp.float32(0).",
        ),
        verify=verify_penalty,
        solution=solve_penalty,
    ),
    Exercise(
        id="pytrees/2",
        title="a table of distances",
        stub=distances,
        hints=(
            "Write the distance of one point from one centre first. Then map twice.",
            "in_axes=(None, 0) keeps the point and goes through the centres: one row of the table.",
            "jax.vmap(row, in_axes=(0, None))(points, centres), row being the map of the hint "
            "before.",
        ),
        verify=verify_distances,
        solution=solve_distances,
    ),
    Exercise(
        id="pytrees/3",
        title="standardise over a named axis",
        stub=standardise,
        hints=(
            "x is one example. What looks across the examples of a mapped axis?",
            'lax.pmean(x, "batch") is the mean of the batch, feature by feature.',
            "The variance is a mean, too: of the squares of what is left after the first one.",
        ),
        verify=verify_standardise,
        solution=solve_standardise,
    ),
)
