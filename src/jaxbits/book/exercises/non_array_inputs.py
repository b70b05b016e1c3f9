"""The exercises for chapter 05, non-array inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import AnswerRejected, assert_equal, call
from jaxbits.book.exercises.base import Exercise


def takes_lists(function: Callable[[jax.Array], Any]) -> Callable[[Any], Any]:
    """Return a jitted function that takes lists of numbers as well as arrays."""
    raise NotImplementedError


def solve_takes_lists(function: Callable[[jax.Array], Any]) -> Callable[[Any], Any]:
    """Convert to one dtype before the jitted call, so that all inputs share a trace."""
    jitted = jax.jit(function)
    return lambda numbers: jitted(np.asarray(numbers, np.float32))


def verify_takes_lists(answer: Callable[..., Any]) -> None:
    """Pass lists, tuples, and arrays of three numbers, which must share one trace."""
    kinds: list[Any] = []

    def spread(x: Any) -> Any:
        kinds.append(x)
        if not hasattr(x, "shape"):
            raise AnswerRejected(
                f"the function must receive an array, got a {type(x).__name__}; jit passes "
                "a list as a list of tracers"
            )
        return x.max() - x.min()

    wrapped = call(answer, spread)
    if not callable(wrapped):
        raise AnswerRejected(f"your function must return a function, got {format_value(wrapped)}")
    for numbers in ([3.0, 1.0, 2.5], [5, 2, 4], (1.0, 2.0, 4003), np.array([0.5, 2.0, 3.0])):
        expected = float(max(numbers)) - float(min(numbers))
        seen = call(wrapped, numbers)
        what = f"for {format_value(numbers)}, the returned function must give"
        if np.shape(seen) != () or not np.allclose(seen, expected):
            raise AnswerRejected(f"{what} {format_value(expected)}, got {format_value(seen)}")
    if not kinds:
        raise AnswerRejected(
            "the values are right, but your function never calls the given function"
        )
    if not isinstance(kinds[0], jax.core.Tracer):
        raise AnswerRejected(
            "the function received an array instead of a tracer, so it is not jitted"
        )
    if len(kinds) > 1:
        shown = ", ".join(f"{x.dtype}{list(x.shape)}" for x in kinds)
        raise AnswerRejected(
            f"four calls with three numbers each must share one trace, got {len(kinds)} "
            f"traces: {shown}"
        )
    call(wrapped, list(range(200)))
    assert_equal(
        len(kinds), 2, "after a call with a different length, the number of traces must be"
    )


def compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return a jitted version of step(x, rate, mode), where rate is a number and mode a string."""
    raise NotImplementedError


def solve_compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """Make the string static, because it selects the program. The rate stays an argument."""
    return jax.jit(step, static_argnames="mode")


def verify_compiled(answer: Callable[..., Any]) -> None:
    """Pass both modes, one of them also by name, and several rates, which must share one trace."""
    modes: list[str] = []

    def step(x: Any, rate: Any, mode: str) -> Any:
        modes.append(mode)
        if not isinstance(mode, str):
            raise AnswerRejected(f"step must receive mode as a string, got a {type(mode).__name__}")
        if not isinstance(x, jax.core.Tracer):
            raise AnswerRejected(
                "step received x as an array instead of a tracer, so it is not jitted"
            )
        return x - rate * x if mode == "train" else x

    jitted = call(answer, step)
    if not callable(jitted):
        raise AnswerRejected(f"your function must return a function, got {format_value(jitted)}")
    x = jnp.array([1.0, 2.0])
    first = np.array([0.5, 1.0], np.float32)
    seen = call(jitted, x, 0.5, "train")
    assert_equal(seen, first, "with a rate of 0.5 and the mode 'train', the result must be")
    for rate in (0.25, 0.125):
        call(jitted, x, rate, "train")
    if len(modes) > 1:
        raise AnswerRejected(
            f"three rates must share one trace, got {len(modes)} traces; a number that "
            "changes must be a regular argument, not a static one"
        )
    seen = call(jitted, x, 0.5, "test")
    assert_equal(seen, np.array([1.0, 2.0], np.float32), "in the mode 'test', the result must be")
    seen = call(jitted, x, 0.25, through=lambda *args: jitted(*args, mode="test"))
    what = "with mode='test' passed by name, the result must be"
    assert_equal(seen, np.array([1.0, 2.0], np.float32), what)


def to_jax(batch: Any) -> Any:
    """Convert a batch to JAX arrays, or raise OverflowError if an integer does not fit."""
    raise NotImplementedError


def solve_to_jax(batch: Any) -> Any:
    """Convert each leaf, and compare the integers before and after the conversion."""

    def convert(leaf: np.ndarray) -> jax.Array:
        converted = jnp.asarray(leaf)
        if leaf.dtype.kind in "iu" and not np.array_equal(converted, leaf):
            raise OverflowError(f"an integer of dtype {leaf.dtype} does not fit {converted.dtype}")
        return converted

    return jax.tree.map(convert, batch)


def verify_to_jax(answer: Callable[..., Any]) -> None:
    """Test integers on both sides of every limit, floats, bytes, and booleans, in nested trees."""
    batch = {
        "ids": np.array([7, 2**31 - 1, -(2**31)]),
        "image": np.array([[0, 255]], np.uint8),
        "rest": [np.array([0.1, 1e10]), (np.array([True, False]),)],
        "sizes": (np.array([3_000_000_000], np.uint32), np.array([3_000_000_000], np.uint64)),
        "one": np.array(5),
    }
    small = {"ids": np.array([[0, 255]], np.uint8)}
    form: Any = jax.tree.structure(call(answer, small))
    if form != jax.tree.structure(small):
        raise AnswerRejected(
            f"the result must have the same tree structure as the batch, got {form}"
        )
    for wanted in jax.tree.leaves(batch):
        leaf = call(answer, {"ids": wanted}, how=f"for an array of {wanted.dtype}, ")["ids"]
        if not isinstance(leaf, jax.Array):
            raise AnswerRejected(f"each leaf must be a JAX array, got a {type(leaf).__name__}")
        kind = jax.dtypes.canonicalize_dtype(wanted.dtype)
        if leaf.dtype != kind:
            raise AnswerRejected(
                f"an array of dtype {wanted.dtype} must become {kind}, got {leaf.dtype}; "
                "only 64-bit dtypes change"
            )
        assert_equal(leaf, wanted.astype(kind), "an array that fits must become")
    form = jax.tree.structure(call(answer, batch))
    if form != jax.tree.structure(batch):
        raise AnswerRejected(
            f"the result must have the same tree structure as the batch, got {form}"
        )
    large = {
        "5_000_000_000": np.array([3, 5_000_000_000]),
        "-5_000_000_000": np.array([-5_000_000_000]),
        "2**32 + 3": np.array([2**32 + 3]),
        "2**31": np.array([[0], [2**31]]),
        "-2**31 - 1": np.array([-(2**31) - 1]),
        "-2**63": np.array([-(2**63)]),
        "5_000_000_000 as uint64": np.array([5_000_000_000], np.uint64),
        "2**32 as uint64": np.array([2**32], np.uint64),
    }
    for name, ids in large.items():
        try:
            kept = answer({"ids": ids})
        except OverflowError:
            continue
        except Exception as error:
            raise AnswerRejected(
                f"for ids with {name}, your function must raise OverflowError, got "
                f"{type(error).__name__}"
            ) from error
        raise AnswerRejected(
            f"for ids with {name}, your function must raise OverflowError, but the ids "
            f"become {format_value(jax.tree.leaves(kept)[0])}"
        )
    try:
        answer({"ids": np.array([7]), "rest": [np.array([0.5]), (large["2**32 + 3"],)]})
    except OverflowError:
        pass
    else:
        raise AnswerRejected(
            "your function accepts 2**32 + 3 in a list inside the batch; check every leaf"
        )
    empty = {"ids": np.zeros((0, 2), np.int64)}
    seen = call(answer, empty, how="for an empty array, ")
    assert_equal(seen, {"ids": np.zeros((0, 2), np.int32)}, "an empty array must become")


EXERCISES = (
    Exercise(
        id="non-array-inputs/1",
        title="a jitted function that takes lists",
        stub=takes_lists,
        hints=(
            "jit flattens a list into its elements. Where can you still turn it into an array?",
            "Return a function of your own that converts the list and then calls the jitted one.",
            "Convert with np.asarray(numbers, np.float32). Without the dtype, JAX traces again for "
            "ints. Call jax.jit once, outside the function that you return.",
        ),
        verify=verify_takes_lists,
        solution=solve_takes_lists,
    ),
    Exercise(
        id="non-array-inputs/2",
        title="a string and a number",
        stub=compiled,
        hints=(
            "jit accepts a string only if you mark that argument as static.",
            "static_argnames takes the names of parameters.",
            "Mark only the mode. With a static rate, JAX would compile again for each value.",
        ),
        verify=verify_compiled,
        solution=solve_compiled,
    ),
    Exercise(
        id="non-array-inputs/3",
        title="a conversion that notices truncated integers",
        stub=to_jax,
        hints=(
            "jax.tree.map calls your function on each leaf.",
            "Convert the leaf, and compare what comes out with what went in.",
            "Only integers (leaf.dtype.kind in 'iu') must be equal. Compare with np.array_equal, "
            "because jnp.array_equal would truncate what went in, too.",
        ),
        verify=verify_to_jax,
        solution=solve_to_jax,
    ),
)
