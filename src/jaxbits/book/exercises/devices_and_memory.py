"""The exercises for chapter 20, devices and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import AnswerRejected, assert_returns, call
from jaxbits.book.exercises.base import Exercise


def bytes_needed(f: Callable[..., Any], x: Any) -> int:
    """Return how many bytes a call of `f` needs, without running it."""
    raise NotImplementedError


def solve_bytes_needed(f: Callable[..., Any], x: Any) -> int:
    """Compile the function for arguments like x, and add up the three parts."""
    memory: Any = jax.jit(f).lower(x).compile().memory_analysis()
    needed = memory.argument_size_in_bytes + memory.output_size_in_bytes
    return int(needed + memory.temp_size_in_bytes)


def verify_bytes_needed(answer: Callable[..., Any]) -> None:
    """Test a small array, a description of a large array, and a pytree."""
    small = jnp.arange(4096.0)
    _check_bytes(answer, _sorted_twice, small, "for an array of 4,096 float32 numbers")
    large = jax.ShapeDtypeStruct((50_000_000,), jnp.float32)
    _check_bytes(
        answer,
        _sorted_twice,
        large,
        "for a ShapeDtypeStruct of 50,000,000 float32 numbers, which has no values and cannot be "
        "passed to the compiled program",
    )
    tree = {"w": jax.ShapeDtypeStruct((256, 512), jnp.float32), "b": jnp.zeros(512, jnp.bfloat16)}
    _check_bytes(answer, _sum_of_layer, tree, "for a dict with a float32 and a bfloat16 array")


def _sorted_twice(x: jax.Array) -> jax.Array:
    return jnp.sort(jnp.sort(x)[::-1] * x)[:10]


def _sum_of_layer(layer: dict[str, jax.Array]) -> jax.Array:
    return jnp.sort(layer["w"] * 2, axis=0)[::2] + layer["b"]


def _check_bytes(answer: Callable[..., Any], f: Callable[..., Any], x: Any, how: str) -> None:
    seen = call(answer, f, x, how=f"{how}, ")
    memory: Any = jax.jit(f).lower(x).compile().memory_analysis()
    arguments, results, temporary = (
        memory.argument_size_in_bytes,
        memory.output_size_in_bytes,
        memory.temp_size_in_bytes,
    )
    expected = arguments + results + temporary
    if not isinstance(seen, (int, float, np.number)):
        raise AnswerRejected(f"your function must return a number, got {format_value(seen)}")
    if seen == expected:
        return
    mistakes = {
        temporary: "these are only the temporary arrays. Add the arguments and the results",
        arguments: "these are only the arguments. Add the results and the temporary arrays",
        results: "these are only the results. Add the arguments and the temporary arrays",
        arguments + results: "the temporary arrays are missing",
        arguments + temporary: "the results are missing",
        results + temporary: "the arguments are missing",
        expected / 2**20: "return bytes, not MiB",
    }
    why = f". In your answer, {mistakes[seen]}" if seen in mistakes else ""
    raise AnswerRejected(f"{how}, your function must return {expected:,} bytes, got {seen:,}{why}")


def accumulated_gradient(loss: Any, params: Any, batch: jax.Array, parts: int) -> Any:
    """Return the gradient for the whole batch, computed from one part at a time."""
    raise NotImplementedError


def solve_accumulated_gradient(loss: Any, params: Any, batch: jax.Array, parts: int) -> Any:
    """Loop over the parts with scan. The carry holds the sum of the gradients so far."""
    pieces = batch.reshape(parts, -1, *batch.shape[1:])

    def add(total: Any, piece: jax.Array) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, jax.grad(loss)(params, piece)), None

    total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, params), pieces)
    return jax.tree.map(lambda g: g / parts, total)


def _line_loss(params: dict[str, jax.Array], batch: jax.Array) -> jax.Array:
    return jnp.mean((params["w"] * batch + params["b"]) ** 2)


def _wide_loss(params: dict[str, jax.Array], batch: jax.Array) -> jax.Array:
    hidden = jnp.tanh(jnp.tanh(batch @ params["up"]) @ params["square"])
    return jnp.mean(hidden**2)


def verify_accumulated_gradient(answer: Callable[..., Any]) -> None:
    """Test the values, a batch with several axes, jit, and the memory of the compiled program."""
    params = {"w": jnp.float32(2.0), "b": jnp.float32(1.0)}
    batch = jnp.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    gradient = jax.grad(_line_loss)(params, batch)
    seen = call(answer, _line_loss, params, batch, 3)
    if not isinstance(seen, dict) or set(seen) != {"w", "b"}:
        raise AnswerRejected(
            "the gradient must have the structure of the parameters, a dict with the keys 'w' and "
            f"'b', got {format_value(seen)}"
        )
    w = np.asarray(seen["w"])
    last = np.asarray(jax.grad(_line_loss)(params, batch[-2:])["w"])
    first = np.asarray(jax.grad(_line_loss)(params, batch[:2])["w"])
    if w.shape == () and np.allclose(w, 3 * gradient["w"]):
        raise AnswerRejected(
            f"with 3 parts, the gradient with respect to 'w' must be {gradient['w']:.4g}, got "
            f"{float(w):.4g}, which is 3 times as much. The loss is a mean, so divide the sum of "
            "the gradients by the number of parts"
        )
    for wrong, which in ((first, "first"), (last, "last")):
        if w.shape == () and np.allclose(w, wrong):
            raise AnswerRejected(
                f"with 3 parts, the gradient with respect to 'w' must be {gradient['w']:.4g}, got "
                f"{float(w):.4g}, which is the gradient of the {which} part alone"
            )
    assert_returns(answer, _line_loss, params, batch, 3, expected=gradient)
    assert_returns(answer, _line_loss, params, batch, 1, expected=gradient)
    assert_returns(
        answer,
        _line_loss,
        params,
        batch.reshape(6, 1, 1),
        2,
        expected=gradient,
        why="split only the first axis of the batch",
    )
    _check_memory(answer)


def _check_memory(answer: Callable[..., Any]) -> None:
    parts = 8
    params = {
        "up": jax.ShapeDtypeStruct((16, 256), jnp.float32),
        "square": jax.ShapeDtypeStruct((256, 256), jnp.float32),
    }
    batch = jax.ShapeDtypeStruct((4096, 16), jnp.float32)

    def temporary(f: Callable[..., Any]) -> int:
        memory: Any = jax.jit(f).lower(params, batch).compile().memory_analysis()
        return int(memory.temp_size_in_bytes)

    def in_parts(params: Any, batch: Any) -> Any:
        return call(answer, _wide_loss, params, batch, parts, how="under jit, ")

    whole = temporary(jax.grad(_wide_loss))
    if temporary(in_parts) > whole / 2:
        raise AnswerRejected(
            f"with {parts} parts, the compiled program must need less than half as much memory for "
            f"temporary arrays as jax.grad of the whole batch, which needs {whole:,} bytes, got "
            f"{temporary(in_parts):,}. Process one part after another in lax.scan, and keep only "
            "the sum of the gradients"
        )


def same_bits(one: Any, other: Any) -> bool:
    """Return whether two pytrees agree bit for bit."""
    raise NotImplementedError


def solve_same_bits(one: Any, other: Any) -> bool:
    """Compare the structures first, and then the dtype, the shape, and the bytes of each leaf."""
    structure: Any = jax.tree.structure(other)
    if jax.tree.structure(one) != structure:
        return False

    def equal(a: Any, b: Any) -> bool:
        a, b = np.asarray(a), np.asarray(b)
        same_kind = a.dtype == b.dtype and a.shape == b.shape
        return bool(same_kind and a.tobytes() == b.tobytes())

    return all(map(equal, jax.tree.leaves(one), jax.tree.leaves(other)))


def verify_same_bits(answer: Callable[..., Any]) -> None:
    """Test last digits, NaN, signed zeros, dtypes, shapes, and structures."""
    state = {"w": jnp.array([1.0, 2.0]), "step": jnp.int32(3)}
    last_digit = np.nextafter(np.float32(2), np.float32(3))
    zeros, ones = jnp.zeros(2), jnp.ones(2)
    not_a_number = jnp.array([jnp.nan, 1.0])
    for one, other, expected, why in (
        (state, jax.tree.map(jnp.copy, state), True, "all leaves are equal"),
        (state, {**state, "step": jnp.int32(4)}, False, "the last leaf differs"),
        (state, {**state, "w": jnp.array([1.0, last_digit])}, False, "the last digit differs"),
        (not_a_number, jnp.copy(not_a_number), True, "NaN at the same place has the same bits"),
        (zeros, -zeros, False, "0.0 and -0.0 have different bits"),
        (ones, ones.astype(jnp.bfloat16), False, "the dtypes differ"),
        (zeros, zeros.astype(jnp.int32), False, "the dtypes differ"),
        (ones, jnp.ones((1, 2)), False, "the shapes differ"),
        ({"w": ones}, {"b": ones}, False, "the keys differ"),
        ({"w": ones}, {"w": ones, "b": ones}, False, "one pytree has a leaf more"),
    ):
        seen = call(answer, one, other)
        if isinstance(seen, (dict, list, tuple)) or np.ndim(seen) != 0:
            raise AnswerRejected(
                f"your function must return a single boolean, got {format_value(seen)}"
            )
        if bool(seen) is not expected:
            raise AnswerRejected(
                f"same_bits({format_value(one)}, {format_value(other)}) must return {expected}, "
                f"got {bool(seen)}: {why}"
            )


EXERCISES = (
    Exercise(
        id="devices-and-memory/1",
        title="the memory of a call",
        stub=bytes_needed,
        hints=(
            "You can compile a function without running it. What does the compiled program tell "
            "you about its memory?",
            "jax.jit(f).lower(x).compile() works for arrays, for ShapeDtypeStructs, and for "
            "pytrees of both. Its memory_analysis() has one attribute for each kind of memory.",
            "Add argument_size_in_bytes, output_size_in_bytes, and temp_size_in_bytes. The "
            "temporary arrays alone are not enough, because the arguments and the results are in "
            "the device's memory, too.",
        ),
        verify=verify_bytes_needed,
        solution=solve_bytes_needed,
    ),
    Exercise(
        id="devices-and-memory/2",
        title="a gradient in parts",
        stub=accumulated_gradient,
        hints=(
            "If the loss is a mean, the gradient for the batch is the mean of the gradients for "
            "its parts, because all parts have the same size.",
            "Reshape the batch to (parts, rows per part, ...), and loop over the first axis with "
            "lax.scan. The carry is the sum of the gradients so far, and it starts with zeros like "
            "the parameters.",
            "jax.vmap over the parts computes the right gradient, but it processes all parts at "
            "the same time and saves no memory. Use lax.scan, and divide the sum by parts.",
        ),
        verify=verify_accumulated_gradient,
        solution=solve_accumulated_gradient,
    ),
    Exercise(
        id="devices-and-memory/3",
        title="the same bits",
        stub=same_bits,
        hints=(
            "== says that NaN differs from NaN and that 0.0 equals -0.0. What could you compare "
            "instead of the numbers?",
            "Compare the structures with jax.tree.structure before you compare the leaves. Then "
            "compare the dtype, the shape, and the bytes of each pair of leaves.",
            "np.asarray(leaf).tobytes() returns the bytes of a leaf. jnp.array_equal with "
            "equal_nan=True is not enough, because it accepts -0.0 for 0.0 and another dtype.",
        ),
        verify=verify_same_bits,
        solution=solve_same_bits,
    ),
)
