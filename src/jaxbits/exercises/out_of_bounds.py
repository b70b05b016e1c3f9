"""The exercises of chapter 04, out-of-bounds indexing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import (
    NotYet,
    call,
    returns,
    returns_under_grad,
    returns_under_jit,
)

TABLE = jnp.array([10.0, 20.0, 30.0])


def lookup(table: jax.Array, i: jax.Array | int, default: float) -> jax.Array:
    """Return table[i], or the default where the table has no row i; a negative i has no row."""
    raise NotImplementedError


def solve_lookup(table: jax.Array, i: jax.Array | int, default: float) -> jax.Array:
    """Fill every miss with the default, and let no negative index count from the end."""
    return table.at[i].get(mode="fill", fill_value=default, wrap_negative_indices=False)


def verify_lookup(answer: Callable[..., Any]) -> None:
    """Ask for the value inside, past the end and below zero, under jit and under grad."""
    returns(answer, TABLE, 1, -1.0, expected=20.0)
    returns(answer, TABLE, 3, -1.0, expected=-1.0)
    returns(answer, TABLE, -1, -1.0, expected=-1.0, why="a negative index has no row here")
    returns(answer, TABLE, -7, 0.5, expected=0.5, why="a negative index has no row here")
    longer = jnp.array([1.0, jnp.nan, 3.0, 4.0, 5.0])
    returns(answer, longer, 4, 0.5, expected=5.0, why="this table has five rows")
    returns(answer, longer, 1, 0.5, expected=np.float32("nan"), why="a NaN in the table stays one")

    def with_default(table: jax.Array, i: jax.Array | int) -> Any:
        return answer(table, i, 0.25)

    returns_under_jit(with_default, TABLE, 2, expected=30.0)
    returns_under_jit(with_default, TABLE, 9, expected=0.25)
    returns_under_jit(with_default, TABLE, -2, expected=0.25)
    nothing = np.zeros(3, np.float32)
    returns_under_grad(with_default, TABLE, 9, expected=nothing, why="no row was read")
    returns_under_grad(with_default, TABLE, -1, expected=nothing, why="no row was read")
    returns_under_grad(with_default, TABLE, 1, expected=np.array([0, 1, 0], np.float32))
    many = jnp.array([0, 3, -1])
    returns(answer, TABLE, many, -1.0, expected=np.array([10, -1, -1], np.float32))


def loss_of_known(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean cross-entropy of the rows whose label is a class, 0.0 if there is none."""
    raise NotImplementedError


def solve_loss_of_known(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Look up a label that exists, then leave out the loss of those that did not."""
    known = (labels >= 0) & (labels < logits.shape[1])
    safe = jnp.where(known, labels, 0)
    log_p = jax.nn.log_softmax(logits)
    losses = -jnp.take_along_axis(log_p, safe[:, None], axis=1)[:, 0]
    return jnp.where(known, losses, 0.0).sum() / jnp.maximum(known.sum(), 1)


def verify_loss_of_known(answer: Callable[..., Any]) -> None:
    """Ask for the mean over the known labels, for −100, −1, too large, none, jit and grad."""
    logits = jnp.array([[2.0, 0.0, 1.0, 0.5], [0.0, 3.0, 0.0, 1.0], [1.0, 1.0, 0.0, -1.0]])
    labels = jnp.array([0, 0, 1])
    each = np.array([_cross_entropy(row, int(i)) for row, i in zip(logits, labels, strict=True)])
    returns(answer, logits, labels, expected=np.float32(each.mean()))
    padded = labels.at[1].set(-100)
    half = np.float32((each[0] + each[2]) / 2)
    seen = call(answer, logits, padded)
    if np.shape(seen) == () and np.isclose(float(seen), float(half) * 2 / 3, rtol=1e-4):
        raise NotYet("with one label of three masked it divides by 3: divide by the labels kept")
    returns(answer, logits, padded, expected=half, why="a label of -100 is not a class")
    returns(answer, logits, labels.at[1].set(-1), expected=half, why="a label of -1 is no class")
    returns(answer, logits, labels.at[1].set(4), expected=half, why="4 classes end at label 3")
    returns(
        answer,
        logits,
        labels.at[1].set(3),
        expected=np.float32((each[0] + _cross_entropy(logits[1], 3) + each[2]) / 3),
        why="label 3 is the fourth class",
    )
    nothing = jnp.full(3, -100)
    returns(answer, logits, nothing, expected=0.0, why="no label is left")
    returns_under_jit(answer, logits, padded, expected=half)
    large = logits.at[0, 0].set(1000.0)
    far = jnp.array([1, -1, -1])
    returns(answer, large, far, expected=np.float32(1000), why="large logits are no infinity")
    right = jax.grad(solve_loss_of_known)(logits, padded)
    for label in (-100, -1, 4):
        gradient = call(jax.grad(answer), logits, labels.at[1].set(label), how="under grad, ")
        if not np.isfinite(gradient).all():
            raise NotYet(f"its gradient is not finite when a label is {label}")
        if np.abs(gradient[1]).max() > 0:
            raise NotYet(f"the row whose label is {label} still has a gradient")
        if not np.allclose(gradient, right, atol=1e-6):
            raise NotYet(f"its gradient is wrong in the rows kept when a label is {label}")


def _cross_entropy(row: jax.Array, label: int) -> float:
    return float(jax.nn.logsumexp(row) - row[label])


def window(x: jax.Array, start: jax.Array | int, size: int) -> jax.Array:
    """Return x[start:start + size] with NaN at every place that x does not have."""
    raise NotImplementedError


def solve_window(x: jax.Array, start: jax.Array | int, size: int) -> jax.Array:
    """Ask for each place by itself, so that a place outside can be filled by itself."""
    places = start + jnp.arange(size)
    return x.at[places].get(mode="fill", fill_value=jnp.nan, wrap_negative_indices=False)


def verify_window(answer: Callable[..., Any]) -> None:
    """Ask for windows inside, over both ends, wholly outside, and with a traced start."""
    x = jnp.array([1.0, 2.0, 3.0, 4.0, 5.0])
    nan = float("nan")

    def of(*values: float) -> np.ndarray[Any, Any]:
        return np.array(values, np.float32)

    returns(answer, x, 1, 3, expected=of(2, 3, 4))
    seen = call(answer, x, 3, 3)
    if np.array_equal(np.asarray(seen), of(3, 4, 5)):
        raise NotYet("a window from 3 begins with x[2]: it was slid back into the array")
    returns(answer, x, 3, 3, expected=of(4, 5, nan), why="x has no element 5")
    returns(answer, x, -1, 3, expected=of(nan, 1, 2), why="x has no element before the first")
    returns(answer, x, 9, 2, expected=of(nan, nan))
    returns(answer, x, -10, 2, expected=of(nan, nan), why="that is before the first element")
    returns(answer, x, 40, 2, expected=of(nan, nan))
    traced = jax.jit(lambda start: answer(x, start, 3))
    for start, expected in ((3, of(4, 5, nan)), (-1, of(nan, 1, 2)), (9, of(nan, nan, nan))):
        seen = call(traced, start, how="under jit with a traced start, ")
        if not np.array_equal(np.asarray(seen), expected, equal_nan=True):
            said = np.asarray(seen).tolist()
            raise NotYet(f"with a traced start of {start} it returns {said}")


EXERCISES = (
    Exercise(
        id="out-of-bounds/1",
        title="a table with a default",
        stub=lookup,
        hints=(
            "Two indices are special: those past the end, and the negative ones. "
            "Try both against what you have.",
            'x.at[i].get(mode="fill", fill_value=...) handles the end. '
            "What does it do with -1, and why?",
            "x.at[i].get has one more argument, wrap_negative_indices. "
            "Or compare i with 0 and len(table) yourself, inside jnp.where.",
        ),
        verify=verify_lookup,
        solution=solve_lookup,
    ),
    Exercise(
        id="out-of-bounds/2",
        title="a loss that skips what is not a class",
        stub=loss_of_known,
        hints=(
            "First make an array of booleans: which labels are classes at all? "
            "Both -1 and -100 are not, and neither is 4 of four classes.",
            "Replace the unknown labels by a class that exists before you look anything up, "
            "and take their loss out afterwards, by jnp.where: zero times NaN is NaN.",
            "The mean is a sum over the known ones, divided by how many those are; "
            "jnp.maximum(count, 1) keeps 0/0 away.",
        ),
        verify=verify_loss_of_known,
        solution=solve_loss_of_known,
    ),
    Exercise(
        id="out-of-bounds/3",
        title="a window that does not slide",
        stub=window,
        hints=(
            "dynamic_slice moves the window back inside. "
            "You want one index for each place of the window instead.",
            "start + jnp.arange(size) are the places; size is a Python number, start may be "
            "traced.",
            "A start of -1 makes a place of -1, which would wrap: forbid that in .at[...].get.",
        ),
        verify=verify_window,
        solution=solve_window,
    ),
)
