"""The exercises for chapter 15, the XOR classifier: batches, a training step, and an epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    are_close,
    call,
    is_structure_mismatch,
    type_name,
    under_jit,
)
from jaxbits.book.exercises.base import Exercise


def collate(samples: list[Any]) -> Any:
    """Turn a list of (inputs, label) pairs into a batch, which is a pair of arrays."""
    raise NotImplementedError


def solve_collate(samples: list[Any]) -> Any:
    """Turn a list of pairs into a tuple of two arrays, so that jit always sees one structure."""
    inputs, labels = zip(*samples, strict=True)
    return np.stack(inputs), np.stack(labels)


def verify_collate(answer: Callable[..., Any]) -> None:
    """Check that the batch is a pair of NumPy arrays with the right shapes, dtypes, and values."""
    samples = [
        (np.array([0.0, 1.0], np.float32), np.int32(1)),
        (np.array([1.0, 1.0], np.float32), np.int32(0)),
    ]
    batch = call(answer, samples)
    if isinstance(batch, list):
        raise AnswerRejected(
            "your function must return a tuple instead of a list, because the two are "
            "different structures to jit, which compiles each separately"
        )
    if not isinstance(batch, tuple) or len(batch) != 2:
        raise AnswerRejected(
            f"your function must return a pair (inputs, labels), got {type_name(batch)}"
        )
    for name, part in zip(("inputs", "labels"), batch, strict=True):
        if not isinstance(part, np.ndarray):
            raise AnswerRejected(f"the {name} must be a NumPy array, got {type_name(part)}")
    shapes = batch[0].shape, batch[1].shape
    if shapes == ((2,), (2, 2)):
        raise AnswerRejected("the inputs come first in the pair, and the labels second")
    if shapes != ((2, 2), (2,)):
        raise AnswerRejected(
            "for two samples, the inputs and the labels must have the shapes (2, 2) and "
            f"(2,), got {shapes[0]} and {shapes[1]}"
        )
    for name, part, dtype in zip(("inputs", "labels"), batch, (np.float32, np.int32), strict=True):
        if part.dtype != dtype:
            raise AnswerRejected(
                f"the {name} must be {np.dtype(dtype)} as in the samples, got {part.dtype}"
            )
    if not np.array_equal(batch[0], [[0, 1], [1, 1]]) or not np.array_equal(batch[1], [1, 0]):
        raise AnswerRejected(
            "for two samples, the batch must be ([[0.0, 1.0], [1.0, 1.0]], [1, 0]), got "
            f"{format_value(batch)}"
        )


def sgd_step(
    params: Any, inputs: jax.Array, labels: jax.Array, loss_of: Callable[..., jax.Array]
) -> tuple[Any, jax.Array]:
    """Return the parameters after an SGD step, and the loss before the step.

    The learning rate is 0.1.
    """
    raise NotImplementedError


def solve_sgd_step(
    params: Any, inputs: jax.Array, labels: jax.Array, loss_of: Callable[..., jax.Array]
) -> tuple[Any, jax.Array]:
    """Compute the value and the gradient in one call, and then map over both trees."""
    loss, gradients = jax.value_and_grad(loss_of)(params, inputs, labels)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


def verify_sgd_step(answer: Callable[..., Any]) -> None:
    """Check the new parameters and the pre-step loss, and check that no argument has changed."""
    params = {"w": jnp.array([1.0, -2.0]), "deep": [{"b": jnp.array(0.5)}]}
    inputs, labels = jnp.array([[1.0, 0.0], [0.0, 1.0]]), jnp.array([0.0, 1.0])

    def loss_of(params: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
        return jnp.mean((inputs @ params["w"] + params["deep"][0]["b"] - labels) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(params, inputs, labels)
    wanted = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)
    before = jax.tree.map(np.array, params)
    for how, step in (("", answer), ("under jit, ", under_jit(answer, static=(3,)))):
        seen = _stepped(answer, step, (params, inputs, labels, loss_of), how)
        if not isinstance(seen, tuple) or len(seen) != 2:
            raise AnswerRejected(f"{how}your function must return a tuple (parameters, loss)")
        if not are_close(params, before):
            raise AnswerRejected("your function modifies its parameters in place; return new ones")
        new, told = seen
        if str(jax.tree.structure(told)) == str(jax.tree.structure(params)):
            raise AnswerRejected(
                f"{how}your function returns the loss first; return (parameters, loss)"
            )
        forms: list[Any] = [jax.tree.structure(tree) for tree in (new, params)]
        if forms[0] != forms[1]:
            raise AnswerRejected(
                f"{how}the new parameters must have the same tree structure as params"
            )
        if are_close(new, jax.tree.map(lambda p, g: p + 0.1 * g, params, gradients)):
            raise AnswerRejected(
                f"{how}the loss increases; subtract the gradient instead of adding it"
            )
        if are_close(new, gradients):
            raise AnswerRejected(
                f"{how}your function returns the gradient instead of params - 0.1 * gradient"
            )
        if not are_close(new, wanted):
            raise AnswerRejected(f"{how}the new parameters are not params - 0.1 * gradient")
        if np.shape(told) != () or not np.isclose(float(told), float(loss)):
            raise AnswerRejected(
                f"{how}the returned loss must be {float(loss):g}, the loss before the step, "
                f"got {format_value(told)}"
            )


def _stepped(answer: Any, step: Any, args: tuple[Any, ...], how: str) -> Any:
    try:
        return call(answer, *args, how=how, through=step)
    except AnswerRejected as wrong:
        cause = wrong.__cause__
        if not is_structure_mismatch(cause):
            raise
        raise AnswerRejected(
            f"{how}the trees that your function maps over have different structures; the gradients "
            "have the structure of the parameters if you differentiate with respect to the first "
            "argument of the loss"
        ) from cause


def scan_epoch(
    step: Callable[..., tuple[Any, jax.Array]], params: Any, inputs: jax.Array, labels: jax.Array
) -> tuple[Any, jax.Array]:
    """Apply step(params, x, y) -> (params, loss) to each batch in turn, with one lax.scan.

    The inputs have shape (batches, batch, 2), and the labels have shape (batches, batch). Return
    the final parameters and the losses, which have shape (batches,).
    """
    raise NotImplementedError


def solve_scan_epoch(
    step: Callable[..., tuple[Any, jax.Array]], params: Any, inputs: jax.Array, labels: jax.Array
) -> tuple[Any, jax.Array]:
    """Carry the parameters, scan over the batches, and stack the losses."""
    return jax.lax.scan(lambda params, batch: step(params, *batch), params, (inputs, labels))


def verify_scan_epoch(answer: Callable[..., Any]) -> None:
    """Compare the result with a loop's, and check that more batches do not lengthen the program."""

    def step(params: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        return {"w": params["w"] * 0.5 + x.sum()}, jnp.mean(y) + params["w"]

    step.__qualname__ = "step"  # This name appears in error messages.
    params, inputs = {"w": jnp.array(1.0)}, jnp.arange(12.0).reshape(3, 2, 2)
    labels = jnp.arange(6.0).reshape(3, 2)
    expected, losses = params, []
    for x, y in zip(inputs, labels, strict=True):
        expected, loss = step(expected, x, y)
        losses.append(loss)
    seen = call(answer, step, params, inputs, labels)
    if not isinstance(seen, tuple) or len(seen) != 2:
        raise AnswerRejected("your function must return a tuple (parameters, losses)")
    if are_close(seen[::-1], (expected, np.array(losses))):
        raise AnswerRejected("your function returns the losses first; return (parameters, losses)")
    if np.shape(seen[1]) != (3,):
        raise AnswerRejected(
            f"for 3 batches, the losses must have shape (3,), got {np.shape(seen[1])}"
        )
    alone = [float(step(params, x, y)[1]) for x, y in zip(inputs, labels, strict=True)]
    if np.allclose(seen[1], alone):
        raise AnswerRejected(
            "every batch starts from the initial parameters; carry the parameters from "
            "each step to the next"
        )
    if not np.allclose(seen[1], losses):
        raise AnswerRejected(
            f"the losses must be {format_value(np.array(losses))}, got {format_value(seen[1])}"
        )
    if not are_close(seen[0], expected):
        raise AnswerRejected(
            f"the parameters must be {format_value(expected)}, got {format_value(seen[0])}"
        )

    def size_of_program(batches: int) -> int:
        x, y = jnp.zeros((batches, 2, 2)), jnp.zeros((batches, 2))
        lowered = jax.jit(lambda p, x, y: answer(step, p, x, y)).lower(params, x, y)
        return lowered.as_text().count(" = ")

    if size_of_program(30) > size_of_program(3) + 3:
        raise AnswerRejected(
            "the program grows with the number of batches, as an unrolled loop does; use "
            "jax.lax.scan"
        )


EXERCISES = (
    Exercise(
        id="xor/1",
        title="a collate function",
        stub=collate,
        hints=(
            "zip(*samples) turns a list of pairs into two tuples.",
            "np.stack turns each into an array. Return them as a tuple, because to jit, a list is "
            "a different structure.",
        ),
        verify=verify_collate,
        solution=solve_collate,
    ),
    Exercise(
        id="xor/2",
        title="a training step",
        stub=sgd_step,
        hints=(
            "jax.value_and_grad(loss_of) takes the same arguments as loss_of.",
            "Parameters and gradients are trees of the same structure, and jax.tree.map takes both "
            "at once.",
        ),
        verify=verify_sgd_step,
        solution=solve_sgd_step,
    ),
    Exercise(
        id="xor/3",
        title="an epoch as a scan",
        stub=scan_epoch,
        hints=(
            "The carry of a scan is what one iteration passes to the next.",
            "jax.lax.scan can scan over a tree, such as the pair (inputs, labels).",
            "The function that you pass to scan takes (params, batch) and returns (params, loss).",
        ),
        verify=verify_scan_epoch,
        solution=solve_scan_epoch,
    ),
)
