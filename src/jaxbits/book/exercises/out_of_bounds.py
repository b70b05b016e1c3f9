"""The exercises for chapter 04, out-of-bounds indexing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_equal,
    assert_returns,
    assert_returns_op_by_op,
    assert_returns_under_grad,
    assert_returns_under_jit,
    call,
    call_text,
    under_jit,
)
from jaxbits.book.exercises.base import Exercise
from jaxbits.detect import out_of_bounds

TABLE = jnp.array([10.0, 20.0, 30.0])


def lookup(table: jax.Array, i: jax.Array | int, default: float) -> jax.Array:
    """Return table[i], or the default if the table has no row i. A negative i has no row."""
    raise NotImplementedError


def solve_lookup(table: jax.Array, i: jax.Array | int, default: float) -> jax.Array:
    """Fill every miss with the default, and do not let negative indices count from the end."""
    return table.at[i].get(mode="fill", fill_value=default, wrap_negative_indices=False)


def verify_lookup(answer: Callable[..., Any]) -> None:
    """Test indices in bounds, past the end, and below zero, also under jit and grad."""
    negative = "a negative index is not in the table"
    assert_returns(answer, TABLE, 1, -1.0, expected=20.0)
    assert_returns(answer, TABLE, 3, -1.0, expected=-1.0)
    assert_returns(answer, TABLE, -1, -1.0, expected=-1.0, why=negative)
    assert_returns(answer, TABLE, -7, 0.5, expected=0.5, why=negative)
    longer = jnp.array([1.0, jnp.nan, 3.0, 4.0, 5.0])
    assert_returns(answer, longer, 4, 0.5, expected=5.0, why="this table has five rows")
    nan = np.float32("nan")
    assert_returns(answer, longer, 1, 0.5, expected=nan, why="a NaN in the table must stay NaN")
    for i, expected in ((2, 30.0), (9, 0.25), (-2, 0.25)):
        assert_returns_under_jit(answer, TABLE, i, 0.25, expected=expected, static=(2,))
    nothing = np.zeros(3, np.float32)
    assert_returns_under_grad(answer, TABLE, 9, 0.25, expected=nothing, why="no row is read")
    assert_returns_under_grad(answer, TABLE, -1, 0.25, expected=nothing, why="no row is read")
    assert_returns_under_grad(answer, TABLE, 1, 0.25, expected=np.array([0, 1, 0], np.float32))
    many, found = jnp.array([0, 3, -1]), np.array([10, -1, -1], np.float32)
    assert_returns(answer, TABLE, many, -1.0, expected=found)
    assert_returns_under_jit(answer, TABLE, many, -1.0, expected=found, static=(2,))


def loss_of_known(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean cross-entropy of the rows whose label is a class, or 0.0 if none is."""
    raise NotImplementedError


def solve_loss_of_known(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Look up a class that exists for every row, and then leave out the unknown labels."""
    known = (labels >= 0) & (labels < logits.shape[1])
    safe = jnp.where(known, labels, 0)
    log_p = jax.nn.log_softmax(logits)
    losses = -jnp.take_along_axis(log_p, safe[:, None], axis=1)[:, 0]
    return jnp.where(known, losses, 0.0).sum() / jnp.maximum(known.sum(), 1)


def verify_loss_of_known(answer: Callable[..., Any]) -> None:
    """Test the labels -100 and -1 and labels past the last class, also under jit and grad."""
    logits = jnp.array([[2.0, 0.0, 1.0, 0.5], [0.0, 3.0, 0.0, 1.0], [1.0, 1.0, 0.0, -1.0]])
    labels = jnp.array([0, 0, 1])
    each = np.array([_cross_entropy(row, int(i)) for row, i in zip(logits, labels, strict=True)])
    assert_returns(answer, logits, labels, expected=np.float32(each.mean()))
    padded = labels.at[1].set(-100)
    half = np.float32((each[0] + each[2]) / 2)
    seen = call(answer, logits, padded)
    if np.shape(seen) == () and np.isclose(float(seen), float(half) * 2 / 3, rtol=1e-4):
        raise AnswerRejected(
            "with one of three labels left out, your function divides by 3; divide by the "
            "number of known labels"
        )
    assert_returns(answer, logits, padded, expected=half, why="a label of -100 is not a class")
    assert_returns(
        answer, logits, labels.at[1].set(-1), expected=half, why="a label of -1 is not a class"
    )
    assert_returns(answer, logits, labels.at[1].set(4), expected=half, why="the last class is 3")
    assert_returns(
        answer,
        logits,
        labels.at[1].set(3),
        expected=np.float32((each[0] + _cross_entropy(logits[1], 3) + each[2]) / 3),
        why="3 is a class",
    )
    nothing = jnp.full(3, -100)
    assert_returns(answer, logits, nothing, expected=0.0, why="no label is a class")
    assert_returns_under_jit(answer, logits, padded, expected=half)
    why = "0 times NaN is NaN, unless XLA happens to compile the product into a select"
    assert_returns_op_by_op(answer, logits, padded, expected=half, why=why)
    large = logits.at[0, 0].set(1000.0)
    far = jnp.array([1, -1, -1])
    why = "a large logit must not overflow to infinity; use log_softmax"
    assert_returns(answer, large, far, expected=np.float32(1000), why=why)
    right = jax.grad(solve_loss_of_known)(logits, padded)
    slope = jax.grad(lambda logits, labels: answer(logits, labels))
    for label in (-100, -1, 4):
        given = logits, labels.at[1].set(label)
        gradient = call(answer, *given, how="under grad, ", through=slope)
        if not np.isfinite(gradient).all():
            raise AnswerRejected(f"with a label of {label}, the gradient must be finite, got nan")
        if np.abs(gradient[1]).max() > 0:
            raise AnswerRejected(f"the gradient for a row with the label {label} must be 0")
        for row in (0, 2):
            what = f"with a label of {label} in row 1, the gradient for row {row} must be"
            assert_equal(gradient[row], right[row], what)
        _must_not_promise(answer, *given, label)


def _must_not_promise(answer: Callable[..., Any], logits: Any, labels: Any, label: int) -> None:
    """Reject an answer that reads at an unknown label and promises that the index is in bounds."""
    program = str(jax.make_jaxpr(lambda *args: answer(*args))(logits, labels))
    if "PROMISE" not in program or "FILL" in program:
        return
    if out_of_bounds(answer, logits, labels):
        raise AnswerRejected(
            f"your function reads at the label {label} and discards the result afterward. "
            "Out-of-bounds reads differ between devices, so replace the label before you "
            "read"
        )


def _cross_entropy(row: jax.Array, label: int) -> float:
    return float(jax.nn.logsumexp(row) - row[label])


def window(x: jax.Array, start: jax.Array | int, size: int) -> jax.Array:
    """Return x[start:start + size], with NaN at every index outside x."""
    raise NotImplementedError


def solve_window(x: jax.Array, start: jax.Array | int, size: int) -> jax.Array:
    """Use one index for each element, so that each element outside is filled separately."""
    indices = start + jnp.arange(size)
    return x.at[indices].get(mode="fill", fill_value=jnp.nan, wrap_negative_indices=False)


def verify_window(answer: Callable[..., Any]) -> None:
    """Test a traced start and windows inside the array, across its ends, and entirely outside."""
    x = jnp.array([1.0, 2.0, 3.0, 4.0, 5.0])
    nan = float("nan")

    def of(*values: float) -> np.ndarray[Any, Any]:
        return np.array(values, np.float32)

    assert_returns(answer, x, 1, 3, expected=of(2, 3, 4))
    seen = call(answer, x, 3, 3)
    if np.array_equal(np.asarray(seen), of(3, 4, 5)):
        raise AnswerRejected(
            "the window that starts at 3 begins with x[2], because it was shifted into the array"
        )
    assert_returns(answer, x, 3, 3, expected=of(4, 5, nan), why="x has no element 5")
    assert_returns(
        answer, x, -1, 3, expected=of(nan, 1, 2), why="x has nothing before its first element"
    )
    assert_returns(answer, x, 9, 2, expected=of(nan, nan))
    assert_returns(
        answer, x, -10, 2, expected=of(nan, nan), why="x has nothing before its first element"
    )
    assert_returns(answer, x, 40, 2, expected=of(nan, nan))
    traced = under_jit(answer, static=(2,))
    for start, expected in ((3, of(4, 5, nan)), (-1, of(nan, 1, 2)), (9, of(nan, nan, nan))):
        how = "with a traced start, "
        seen = call(answer, x, start, 3, how=how, through=traced)
        assert_equal(seen, expected, f"{how}{call_text(answer, (x, start, 3))} must return")


EXERCISES = (
    Exercise(
        id="out-of-bounds/1",
        title="a table with a default",
        stub=lookup,
        hints=(
            "Indices past the end and negative indices are both special. Try both.",
            'table.at[i].get(mode="fill", fill_value=...) takes care of the end. What does it do '
            "with -1, and why?",
            "table.at[i].get has another argument, wrap_negative_indices. Or compare i with 0 and "
            "len(table) yourself, and choose with jnp.where. An if would fail under jit.",
        ),
        verify=verify_lookup,
        solution=solve_lookup,
    ),
    Exercise(
        id="out-of-bounds/2",
        title="a loss that skips labels that are not classes",
        stub=loss_of_known,
        hints=(
            "First make an array of booleans: which labels are classes at all? With four classes, "
            "-1, -100, and 4 are not.",
            (
                "Replace the unknown labels with a class that exists before you look anything "
                "up, and leave out their losses afterward with jnp.where. Multiplying by 0 is "
                "not enough, because 0 times NaN is NaN."
            ),
            "The mean is the sum over the known labels, divided by their number. "
            "jnp.maximum(count, 1) avoids 0 / 0.",
        ),
        verify=verify_loss_of_known,
        solution=solve_loss_of_known,
    ),
    Exercise(
        id="out-of-bounds/3",
        title="a window that does not shift",
        stub=window,
        hints=(
            "dynamic_slice shifts the window back into the array. Use one index for each element "
            "of the window instead.",
            "The indices are start + jnp.arange(size). size is a Python number, and start may be "
            "traced.",
            "A start of -1 gives an index of -1, which would count from the end. Turn that off in "
            ".at[...].get.",
        ),
        verify=verify_window,
        solution=solve_window,
    ),
)
