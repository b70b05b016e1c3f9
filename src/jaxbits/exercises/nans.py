"""The exercises of chapter 09, NaNs and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call, returns, returns_under_jit


def speed(height: jax.Array) -> jax.Array:
    """Return sqrt(2 * 9.81 * height) where the height is above 0, else 0, for an array."""
    raise NotImplementedError


def solve_speed(height: jax.Array) -> jax.Array:
    """Give the root a harmless number where there is nothing to take a root of."""
    falls = height > 0
    safe = jnp.where(falls, height, 1.0)
    return jnp.where(falls, jnp.sqrt(2 * 9.81 * safe), 0.0)


def verify_speed(answer: Callable[..., Any]) -> None:
    """Ask for values and gradients above, at and below zero, under jit and vmap."""
    heights = jnp.array([-1.0, 0.0, 1e-6, 5.0])
    above = np.sqrt(2 * 9.81 * np.array([1e-6, 5.0], np.float32))
    right = np.array([0, 0, *above], np.float32)
    returns(answer, heights, expected=right)
    returns_under_jit(answer, heights, expected=right)
    slopes = np.array([0, 0, *(9.81 / above)], np.float32)
    gradient = jax.grad(lambda h: answer(h).sum())
    for some in (slice(3, 4), slice(0, 1), slice(1, 2), slice(2, 3)):
        seen = np.asarray(call(gradient, heights[some], how="under grad, "))
        height = f"{float(heights[some][0]):g}"
        if np.isnan(seen).any():
            raise NotYet(f"at a height of {height} the value is right and the gradient is NaN")
        if not np.allclose(seen, slopes[some], rtol=1e-4):
            wanted = f"{slopes[some][0]:g}"
            raise NotYet(f"at a height of {height} the gradient is {seen[0]:g}, should be {wanted}")


def masked_mean(x: jax.Array, keep: jax.Array) -> jax.Array:
    """Return the mean of x where keep is True, 0.0 if it is True nowhere."""
    raise NotImplementedError


def solve_masked_mean(x: jax.Array, keep: jax.Array) -> jax.Array:
    """Replace what is masked before anything is computed, and never divide by zero."""
    kept = jnp.where(keep, x, 0.0)
    return kept.sum() / jnp.maximum(keep.sum(), 1)


def verify_masked_mean(answer: Callable[..., Any]) -> None:
    """Ask for the mean with NaN and infinity masked and kept, of nothing, and for gradients."""
    x = jnp.array([1.0, 2.0, 6.0])
    some, none = jnp.array([True, False, True]), jnp.zeros(3, bool)
    returns(answer, x, some, expected=3.5)
    nan, inf = jnp.array([1.0, jnp.nan, 6.0]), jnp.array([1.0, jnp.inf, 6.0])
    returns(answer, nan, some, expected=3.5, why="the NaN is masked")
    returns(answer, inf, some, expected=3.5, why="the infinity is masked")
    returns(answer, x, none, expected=0.0, why="nothing is kept")
    kept = jnp.array([1.0, jnp.nan, 6.0])
    returns(answer, kept, ~none, expected=np.float32("nan"), why="a NaN that is kept must show")
    spike = jnp.array([1.0, jnp.inf, 6.0])
    returns(answer, spike, ~none, expected=jnp.inf, why="an infinity that is kept must show")
    returns_under_jit(answer, nan, some, expected=3.5)
    half, nothing = np.array([0.5, 0, 0.5], np.float32), np.zeros(3, np.float32)
    for data, mask, expected in ((nan, some, half), (inf, some, half), (nan, none, nothing)):
        seen = np.asarray(call(jax.grad(answer), data, mask, how="under grad, "))
        if not np.allclose(seen, expected, equal_nan=False):
            said = f"{np.asarray(data).tolist()} and keep={np.asarray(mask).tolist()}"
            raise NotYet(f"for x={said} the gradient is {seen.tolist()}")


def not_finite(tree: Any) -> list[str]:
    """Return the paths of the arrays in a tree that hold a NaN or an infinity."""
    raise NotImplementedError


def solve_not_finite(tree: Any) -> list[str]:
    """Ask every number of every leaf; a sum or a maximum of them may hide or make an infinity."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    bad = [path for path, leaf in leaves if not jnp.isfinite(leaf).all()]
    return [jax.tree_util.keystr(path) for path in bad]


def verify_not_finite(answer: Callable[..., Any]) -> None:
    """Ask for NaN, infinity, large numbers, integers, a deeper tree and an empty one."""
    good = {"b": jnp.zeros(2), "w": jnp.ones((2, 2))}
    returns(answer, good, expected=[])
    returns(answer, {**good, "w": jnp.array([1.0, jnp.nan])}, expected=["['w']"])
    returns(answer, {**good, "b": jnp.array([jnp.inf, 0])}, expected=["['b']"], why="inf counts")
    both = {"b": jnp.array([jnp.inf, -jnp.inf]), "w": jnp.array([-jnp.inf])}
    returns(answer, both, expected=["['b']", "['w']"])
    large = {"w": jnp.full(4, 3e38)}
    returns(answer, large, expected=[], why="each of these numbers is finite; their sum is not")
    deep = {"layers": [{"w": jnp.ones(2)}, {"w": jnp.array([jnp.nan])}], "step": jnp.int32(3)}
    returns(answer, deep, expected=["['layers'][1]['w']"])
    returns(answer, {}, expected=[])


EXERCISES = (
    Exercise(
        id="nans/1",
        title="a root with a gradient everywhere",
        stub=speed,
        hints=(
            "The value is easy: jnp.where. Now take the gradient at 0 and at -1. "
            "Which side of the where sends the NaN?",
            "The root must never see a height of 0 or less, not even where its result is "
            "thrown away.",
            "safe = jnp.where(height > 0, height, 1.0); take the root of safe, "
            "and choose once more.",
        ),
        verify=verify_speed,
        solution=solve_speed,
    ),
    Exercise(
        id="nans/2",
        title="a mean that forgets what is masked",
        stub=masked_mean,
        hints=(
            "x * keep is no mask: 0 times NaN is NaN, and 0 times infinity is, too.",
            "Choose first, add up afterwards: jnp.where(keep, x, 0.0).",
            "With nothing kept you divide 0 by 0. jnp.maximum(count, 1) keeps that away.",
        ),
        verify=verify_masked_mean,
        solution=solve_masked_mean,
    ),
    Exercise(
        id="nans/3",
        title="which parameters are not finite",
        stub=not_finite,
        hints=(
            "jnp.isfinite is False for NaN and for both infinities; it takes integers, too.",
            "jax.tree_util.tree_flatten_with_path(tree)[0] is a list of pairs (path, leaf).",
            "jax.tree_util.keystr(path) writes a path as text. Ask .all() of the booleans, "
            "and do not add the numbers up: a sum may overflow.",
        ),
        verify=verify_not_finite,
        solution=solve_not_finite,
    ),
)
