"""The exercises for chapter 20, devices and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import AnswerRejected, assert_equal, call
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


def scan_in_segments(step: Callable[..., Any], init: Any, xs: Any, segments: int) -> Any:
    """Return the result of `lax.scan`, with a gradient that stores one carry per segment."""
    raise NotImplementedError


def solve_scan_in_segments(step: Callable[..., Any], init: Any, xs: Any, segments: int) -> Any:
    """Loop over the segments, and checkpoint the inner loop over the iterations of a segment."""
    parts = jax.tree.map(lambda x: x.reshape(segments, -1, *x.shape[1:]), xs)

    @jax.checkpoint
    def run(carry: Any, part: Any) -> Any:
        return lax.scan(step, carry, part)

    carry, ys = lax.scan(run, init, parts)
    return carry, jax.tree.map(lambda y: y.reshape(-1, *y.shape[2:]), ys)


def _smooth(mean: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    mean = 0.5 * mean + 0.5 * x
    return mean, mean * x


def _add_products(total: jax.Array, pair: dict[str, jax.Array]) -> tuple[jax.Array, None]:
    return total + pair["a"] @ pair["b"], None


def verify_scan_in_segments(answer: Callable[..., Any]) -> None:
    """Test the results, a pytree of arrays, the gradient, and the memory of the gradient."""
    zero = jnp.float32(0)
    xs = jnp.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    expected = lax.scan(_smooth, zero, xs)
    seen = call(answer, _smooth, zero, xs, 3)
    if not isinstance(seen, (tuple, list)) or len(seen) != 2:
        raise AnswerRejected(
            "your function must return a pair, as lax.scan does: the last carry and the stacked "
            f"results; got {format_value(seen)}"
        )
    for segments in (3, 1, 6):
        carry, ys = call(answer, _smooth, zero, xs, segments)
        what = f"with 6 iterations in {segments} segments, the {{}} must be"
        assert_equal(carry, expected[0], what.format("last carry"))
        assert_equal(ys, expected[1], what.format("stacked results"))
    pairs = {"a": jnp.arange(12.0).reshape(4, 3), "b": jnp.ones((4, 3, 2))}
    total = jnp.zeros(2)
    assert_equal(
        call(answer, _add_products, total, pairs, 2),
        lax.scan(_add_products, total, pairs),
        "if xs is a dict of arrays and step returns None as its result, your function must return",
    )
    _check_gradient(answer)


def _check_gradient(answer: Callable[..., Any]) -> None:
    segments = 16

    def loss_with(scan: Callable[..., Any]) -> Callable[..., Any]:
        def loss(w: jax.Array, h: jax.Array, xs: jax.Array) -> jax.Array:
            def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
                h = jnp.tanh(h @ w + x)
                return h, h[0, 0]

            h, ys = scan(step, h, xs)
            total: jax.Array = (h**2).sum() + ys.sum()
            return total

        return loss

    def answer_scan(step: Any, init: Any, xs: Any) -> Any:
        return call(answer, step, init, xs, segments, how="under grad, ")

    def temporary(scan: Callable[..., Any]) -> int:
        shapes = ((64, 64), (256, 64), (256,))
        arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
        memory: Any = jax.jit(jax.grad(loss_with(scan))).lower(*arguments).compile()
        return int(memory.memory_analysis().temp_size_in_bytes)

    w, h = jnp.array([[0.5, -1.0], [1.0, 0.25]]), jnp.array([[1.0, 2.0]])
    xs = jnp.linspace(-1, 1, 2 * segments)
    assert_equal(
        jax.grad(loss_with(answer_scan))(w, h, xs),
        jax.grad(loss_with(lax.scan))(w, h, xs),
        "the gradient with respect to a weight that step captures must be",
    )
    whole, seen = temporary(lax.scan), temporary(answer_scan)
    if seen > whole / 4:
        raise AnswerRejected(
            f"for 256 iterations in {segments} segments, the gradient must need less than a "
            "quarter of the memory for temporary arrays that the gradient of lax.scan needs, "
            f"which is {whole:,} bytes; got {seen:,}. Checkpoint a function that runs a whole "
            "segment, and run the segments in lax.scan, so that JAX stores only the carries "
            "between the segments"
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
        title="a loop in segments",
        stub=scan_in_segments,
        hints=(
            "jax.checkpoint(step) stores the carry of every iteration, because the carry is an "
            "input of step. Which function could you checkpoint instead?",
            "Reshape each array to (segments, iterations per segment, ...), and nest two scans. "
            "The inner scan runs step over one segment, and the outer scan runs over the "
            "segments. Checkpoint the function that contains the inner scan.",
            "Without jax.checkpoint, two nested scans store as much as one. In JAX 0.10 and older, "
            "a Python loop over the segments saves nothing on a CPU, either. Stacked results of "
            "the outer scan have the shape (segments, iterations per segment, ...), so merge their "
            "first two axes with jax.tree.map.",
        ),
        verify=verify_scan_in_segments,
        solution=solve_scan_in_segments,
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
