"""The exercises for chapter 03, immutable arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_returns,
    assert_returns_under_jit,
    call,
    type_name,
)
from jaxbits.book.exercises.base import Exercise


def push(
    memory: jax.Array, place: jax.Array | int, item: jax.Array
) -> tuple[jax.Array, jax.Array | int]:
    """Return the memory with the item at `place`, and the next place, which is 0 after the last."""
    raise NotImplementedError


def solve_push(
    memory: jax.Array, place: jax.Array | int, item: jax.Array
) -> tuple[jax.Array, jax.Array | int]:
    """Return two new values, and change none of the arguments."""
    return memory.at[place].set(item), (place + 1) % len(memory)


def verify_push(answer: Callable[..., Any]) -> None:
    """Test writes in the middle and at the end, under jit, and with a longer memory."""
    memory = jnp.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    item = jnp.array([7.0, 8.0])
    seen = call(answer, memory, 1, item)
    if not (isinstance(seen, tuple) and len(seen) == 2):
        raise AnswerRejected(
            f"the result must be a pair (memory, next place), got {format_value(seen)}"
        )
    if np.shape(seen[0]) == (3, 2) and np.array_equal(np.asarray(seen[0]), np.asarray(memory)):
        raise AnswerRejected("the returned memory is unchanged; keep the result of .at[...].set")
    first, last = np.array(memory), np.array(memory)
    first[1] = last[2] = np.asarray(item)
    assert_returns(answer, memory, 1, item, expected=(first, 2))
    assert_returns(
        answer, memory, 2, item, expected=(last, 0), why="the place after the last one is 0"
    )
    assert_returns_under_jit(answer, memory, jnp.array(2), item, expected=(last, np.int32(0)))
    long = jnp.zeros((5, 1))
    expected = np.array([[0], [0], [0], [4], [0]], np.float32)
    assert_returns(
        answer, long, 3, jnp.array([4.0]), expected=(expected, 4), why="this memory has 5 rows"
    )


def mean_by_group(values: jax.Array, groups: jax.Array, count: int) -> jax.Array:
    """Return the mean of the values in each of `count` groups, or 0.0 for an empty group."""
    raise NotImplementedError


def solve_mean_by_group(values: jax.Array, groups: jax.Array, count: int) -> jax.Array:
    """Sum values and sizes with `.at[groups].add`, which applies every repeated index."""
    sums = jnp.zeros(count).at[groups].add(values)
    sizes = jnp.zeros(count).at[groups].add(1.0)
    return sums / jnp.maximum(sizes, 1.0)


def verify_mean_by_group(answer: Callable[..., Any]) -> None:
    """Test groups with one value, with several, with none, and with a NaN."""
    values, groups = jnp.array([1.0, 2.0, 6.0, 5.0]), jnp.array([0, 2, 0, 2])
    alone = np.array([1.0, 2.0], np.float32)
    assert_returns(answer, jnp.array([2.0, 1.0]), jnp.array([1, 0]), 2, expected=alone)
    expected = np.array([3.5, 0.0, 3.5], np.float32)
    seen = np.asarray(call(answer, values, groups, 3))
    if seen.shape == (3,) and np.isnan(seen.astype(float)).any():
        raise AnswerRejected("the mean of group 1, which has no values, must be 0.0, got nan")
    if seen.shape == (3,) and seen.tolist() == [7.0, 0.0, 7.0]:
        raise AnswerRejected(
            "your function returns the sums; divide each by the number of values in its group"
        )
    lost = "two values from a group are written to the same index, so one of them is lost"
    why = lost if seen.shape == (3,) and seen[0] in (1.0, 6.0, 0.5, 3.0) else ""
    assert_returns(answer, values, groups, 3, expected=expected, why=why)
    signed = jnp.array([-1.0, 1.0, 3.0, 0.0])
    means = np.array([1.0, 0.0, 0.5, 0.0], np.float32)
    assert_returns(answer, signed, groups, 4, expected=means, why="group 3 has no values")

    unknown = jnp.array([jnp.nan, 2.0, 6.0, 5.0])
    with_nan = np.array([np.nan, 0.0, 3.5], np.float32)
    why = "a NaN must appear in the mean of its own group and nowhere else"
    assert_returns(answer, unknown, groups, 3, expected=with_nan, why=why)
    assert_returns_under_jit(answer, values, groups, 3, expected=expected, static=(2,))


def apply_swaps(x: jax.Array, pairs: jax.Array) -> jax.Array:
    """Return x after swapping the elements at each pair of indices, one pair after the other."""
    raise NotImplementedError


def solve_apply_swaps(x: jax.Array, pairs: jax.Array) -> Any:
    """Read both elements at once and write both at once, so that no step needs a second array."""

    def swap(k: jax.Array, x: jax.Array) -> jax.Array:
        there = pairs[k]
        return x.at[there].set(x[there[::-1]])

    return jax.lax.fori_loop(0, len(pairs), swap, x)


def verify_apply_swaps(answer: Callable[..., Any]) -> None:
    """Check the results of one swap and of several, and the memory that the compiled loop needs."""
    x = jnp.arange(5.0)
    one, chain = jnp.array([[0, 4]]), jnp.array([[0, 1], [1, 2], [2, 3]])

    def of(*values: float) -> np.ndarray[Any, Any]:
        return np.array(values, np.float32)

    seen = call(answer, x, one)
    if np.shape(seen) == (5,) and len(np.unique(np.asarray(seen))) < 5:
        raise AnswerRejected(
            "after one swap, a number appears in the array twice; the second write must not "
            "read what the first one wrote"
        )
    assert_returns(answer, x, one, expected=of(4, 1, 2, 3, 0))
    assert_returns(
        answer, x, chain, expected=of(1, 2, 3, 0, 4), why="apply one pair after the other"
    )
    same = jnp.array([[2, 2]])
    assert_returns(
        answer, x, same, expected=of(0, 1, 2, 3, 4), why="the two indices in a pair may be equal"
    )
    assert_returns_under_jit(answer, x, chain, expected=of(1, 2, 3, 0, 4))
    long, many = jnp.zeros(100_000), jnp.zeros((200, 2), int)
    donated = jax.jit(lambda x, pairs: answer(x, pairs), donate_argnums=0)
    lowered = call(answer, long, many, how="under jit, ", through=donated.lower)
    if len(lowered.as_text()) > 50_000:
        raise AnswerRejected("JAX unrolls the loop into 200 swaps; use lax.fori_loop")
    program = lowered.compile()
    held = program.memory_analysis()
    if jax.default_backend() == "cpu" and held is not None:
        scratch = int(held.temp_size_in_bytes)
        if scratch >= long.nbytes:
            in_the_loop = program.as_text().split("ENTRY")[0]
            copied = re.search(r"f32\[100000\]\S* copy\(", in_the_loop)
            raise AnswerRejected(
                f"for an array of {long.nbytes} bytes, your function needs {scratch} bytes of "
                "scratch memory: "
                + ("a second array, copied in every step" if copied else "room for a second array")
            )


def collect(reader: Iterator[np.ndarray[Any, Any]]) -> list[jax.Array]:
    """Return all batches from a reader that yields the same NumPy array again and again."""
    raise NotImplementedError


def solve_collect(reader: Iterator[np.ndarray[Any, Any]]) -> list[jax.Array]:
    """Copy in NumPy before the reader continues. JAX may then share the memory of that copy."""
    return [jax.device_put(batch.copy()) for batch in reader]


def verify_collect(answer: Callable[..., Any]) -> None:
    """Test a reader whose buffer JAX could share, while the device is idle and while it is busy."""
    for busy in (False, True):
        batches = call(answer, _reader(3, busy))
        if not isinstance(batches, list) or len(batches) != 3:
            got = len(batches) if isinstance(batches, list) else type_name(batches)
            raise AnswerRejected(
                f"for three batches, your function must return a list of three, got {got}"
            )
        if not all(isinstance(batch, jax.Array) for batch in batches):
            kinds = sorted({type(batch).__name__ for batch in batches})
            raise AnswerRejected(f"the batches must be JAX arrays, got {' and '.join(kinds)}")
        try:
            seen = [np.asarray(batch).tolist() for batch in batches]
        except Exception as error:
            raise AnswerRejected(f"reading the batches raises {type(error).__name__}") from error
        wanted = [[float(k)] * 16 for k in range(3)]
        if seen != wanted:
            found = [batch[0] if isinstance(batch, list) and batch else batch for batch in seen]
            when = "with a busy device, " if busy else ""
            why = (
                "the copies were made only after the reader had continued"
                if busy
                else "they may share memory with the reader's array"
            )
            raise AnswerRejected(
                f"{when}the batches must contain 0, 1, and 2, got {format_value(found)}: {why}"
            )


def _reader(count: int, busy: bool) -> Iterator[np.ndarray[Any, Any]]:
    """Yield one array with new contents each time, aligned so that JAX may share its memory."""
    raw = np.zeros(16 * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    batch = raw[start : start + 64].view(np.float32)
    work = jax.jit(lambda a: jax.lax.fori_loop(0, 8, lambda _, a: jnp.tanh(a @ a), a))
    matrix = jnp.ones((600, 600))
    for k in range(count):
        batch[:] = k
        running = work(matrix) if busy else None
        yield batch
        batch[:] = -1
        if running is not None:
            running.block_until_ready()


EXERCISES = (
    Exercise(
        id="immutable-arrays/1",
        title="a ring buffer",
        stub=push,
        hints=(
            "Return two values: the memory with one row changed, and the next place. Do not change "
            "the arguments.",
            "memory.at[place].set(item) returns the new memory. Assign the result to a name, or it "
            "is lost.",
            "The next place is (place + 1) % len(memory), for Python numbers and tracers alike.",
        ),
        verify=verify_push,
        solution=solve_push,
    ),
    Exercise(
        id="immutable-arrays/2",
        title="the mean of each group",
        stub=mean_by_group,
        hints=(
            "A group has several values, so its index appears several times. Which method of .at "
            "applies all of them?",
            "Start from two arrays of zeros. Add the values to one, and 1.0 for each value to the "
            "other.",
            "Divide by jnp.maximum(sizes, 1.0), so that an empty group does not divide 0 by 0. "
            "jnp.nan_to_num would hide a NaN among the values.",
        ),
        verify=verify_mean_by_group,
        solution=solve_mean_by_group,
    ),
    Exercise(
        id="immutable-arrays/3",
        title="swaps without a second array",
        stub=apply_swaps,
        hints=(
            "jax.lax.fori_loop(0, len(pairs), body, x) runs body(k, x) for each pair.",
            "Two writes need two arrays per step, even if you read both elements first. Can one "
            ".at write both?",
            "x.at[jnp.array([i, j])].set(x[jnp.array([j, i])]) writes both at once. pairs[k] and "
            "pairs[k][::-1] are such arrays.",
        ),
        verify=verify_apply_swaps,
        solution=solve_apply_swaps,
    ),
    Exercise(
        id="immutable-arrays/4",
        title="keep the batches",
        stub=collect,
        hints=(
            "The reader yields the same array again and again, with new contents. Keep copies.",
            (
                "jax.device_put and jnp.asarray may share memory with the reader's array, and "
                "jnp.array may copy it after the reader has continued."
            ),
            "NumPy's batch.copy() finishes before the next line runs.",
        ),
        verify=verify_collect,
        solution=solve_collect,
    ),
)
