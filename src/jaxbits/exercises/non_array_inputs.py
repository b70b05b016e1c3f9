"""The exercises of chapter 05, non-array inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.compare import same
from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call, show_kind


def takes_lists(function: Callable[[jax.Array], Any]) -> Callable[[Any], Any]:
    """Return the function jitted, and taking lists of numbers as well as arrays."""
    raise NotImplementedError


def solve_takes_lists(function: Callable[[jax.Array], Any]) -> Callable[[Any], Any]:
    """Convert outside of the jitted function, and say the dtype, so that every kind looks alike."""
    jitted = jax.jit(function)
    return lambda numbers: jitted(np.asarray(numbers, np.float32))


def verify_takes_lists(answer: Callable[..., Any]) -> None:
    """Hand over lists, tuples and arrays of three numbers: one value, one trace for all."""
    kinds: list[Any] = []

    def spread(x: Any) -> Any:
        kinds.append(x)
        if not hasattr(x, "shape"):
            raise NotYet(
                f"what reaches the function is a {type(x).__name__}, not an array: "
                "jit has taken it apart before"
            )
        return x.max() - x.min()

    wrapped = call(answer, spread)
    if not callable(wrapped):
        raise NotYet(f"it should return a function, it returns {show_kind(wrapped)}")
    for numbers in ([3.0, 1.0, 2.5], [5, 2, 4], (1.0, 2.0, 4003), np.array([0.5, 2.0, 3.0])):
        expected = float(max(numbers)) - float(min(numbers))
        seen = call(wrapped, numbers)
        if np.shape(seen) != () or not np.allclose(seen, expected):
            raise NotYet(f"for {numbers!r} it gives {show_kind(seen)}, should be {expected}")
    if not kinds:
        raise NotYet("the values are right, but the function that was handed over was never called")
    if not isinstance(kinds[0], jax.core.Tracer):
        raise NotYet("the function is not jitted: it ran on an array, not on a tracer")
    if len(kinds) > 1:
        shown = ", ".join(f"{x.dtype}{list(x.shape)}" for x in kinds)
        raise NotYet(
            f"four calls with three numbers each were traced {len(kinds)} times ({shown}); "
            "once is enough"
        )
    call(wrapped, list(range(200)))
    if len(kinds) != 2:
        raise NotYet("a new length should be traced once more")


def compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return step(x, rate, mode) jitted; rate is a number, mode a text."""
    raise NotImplementedError


def solve_compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """A text chooses the program, so it is static; a number goes into the program."""
    return jax.jit(step, static_argnames="mode")


def verify_compiled(answer: Callable[..., Any]) -> None:
    """Call with both modes, by position and by name, and with several rates: two traces."""
    modes: list[str] = []

    def step(x: Any, rate: Any, mode: str) -> Any:
        modes.append(mode)
        if not isinstance(mode, str):
            raise NotYet(f"mode reaches the step as a {type(mode).__name__}, not as a text")
        if not isinstance(x, jax.core.Tracer):
            raise NotYet("the step is not jitted: x reached it as an array, not as a tracer")
        return x - rate * x if mode == "train" else x

    jitted = call(answer, step)
    if not callable(jitted):
        raise NotYet(f"it should return a function, it returns {show_kind(jitted)}")
    x = jnp.array([1.0, 2.0])
    first = np.array([0.5, 1.0], np.float32)
    seen = call(jitted, x, 0.5, "train")
    if not same(seen, first):
        raise NotYet(f"with rate 0.5 and mode 'train' it gives {show_kind(seen)}, not [0.5, 1.0]")
    for rate in (0.25, 0.125):
        call(jitted, x, rate, "train")
    if len(modes) > 1:
        raise NotYet(
            f"three rates were traced {len(modes)} times: a number that changes goes into the "
            "program as an input"
        )
    if not same(call(jitted, x, 0.5, "test"), np.array([1.0, 2.0], np.float32)):
        raise NotYet("in mode 'test' it should return x as it is")
    call(lambda *args: jitted(*args, mode="test"), x, 0.25)
    if set(modes) != {"train", "test"}:
        raise NotYet(f"the step was traced for the modes {modes}, should be train and test")


def to_jax(batch: Any) -> Any:
    """Return a tree of NumPy arrays as arrays of JAX; OverflowError if an integer does not fit."""
    raise NotImplementedError


def solve_to_jax(batch: Any) -> Any:
    """Convert each leaf, and look whether its integers came through."""

    def convert(leaf: np.ndarray) -> jax.Array:
        converted = jnp.asarray(leaf)
        if leaf.dtype.kind in "iu" and not np.array_equal(converted, leaf):
            raise OverflowError(f"an integer of {leaf.dtype} does not fit {converted.dtype}")
        return converted

    return jax.tree.map(convert, batch)


def verify_to_jax(answer: Callable[..., Any]) -> None:
    """Hand over small and large integers, floats, bytes, booleans, in nested trees."""
    batch = {
        "ids": np.array([7, 2**31 - 1, -(2**31)]),
        "image": np.array([[0, 255]], np.uint8),
        "rest": [np.array([0.1, 1e10]), (np.array([True, False]),)],
    }
    seen = call(answer, batch)
    leaves: list[Any]
    tree: Any
    leaves, tree = jax.tree.flatten(seen)
    if tree != jax.tree.structure(batch):
        raise NotYet(f"it should return a tree of the form of the batch, it returns {tree}")
    for wanted, leaf in zip(jax.tree.leaves(batch), leaves, strict=True):
        if not isinstance(leaf, jax.Array):
            raise NotYet(f"each leaf should be an array of JAX's, one is a {type(leaf).__name__}")
        if not np.allclose(leaf, wanted, rtol=1e-6):
            raise NotYet(f"{wanted.tolist()} became {leaf.tolist()}")
    if (leaves[1].dtype, leaves[3].dtype) != (jnp.uint8, jnp.bool_):
        raise NotYet("bytes should stay uint8 and booleans bool: only 64 bits become 32")
    large = {
        "5 billion": np.array([3, 5_000_000_000]),
        "-5 billion": np.array([-5_000_000_000]),
        "2**32 + 3": np.array([2**32 + 3]),
        "5 billion, in uint64": np.array([5_000_000_000], np.uint64),
    }
    for name, ids in large.items():
        try:
            kept = answer({"ids": ids})
        except OverflowError:
            continue
        except Exception as error:
            raise NotYet(
                f"for ids with {name} it raises {type(error).__name__}, should be OverflowError"
            ) from error
        raise NotYet(
            f"ids with {name} pass, and become {jax.tree.leaves(kept)[0].tolist()}; "
            "they should raise OverflowError"
        )
    try:
        answer({"ids": np.array([7]), "rest": [np.array([0.5]), (large["2**32 + 3"],)]})
    except OverflowError:
        return
    raise NotYet("an id of 2**32 + 3 passes in a list in the batch: look at each leaf of the tree")


EXERCISES = (
    Exercise(
        id="non-array-inputs/1",
        title="a jitted function that takes lists",
        stub=takes_lists,
        hints=(
            "Under jit a list has been taken apart already. Where can it be made an array?",
            "Return a function of your own, which converts and then calls the jitted one.",
            "np.asarray(numbers, np.float32): without the dtype, ints are traced again. And call "
            "jax.jit once, outside of the function that you return.",
        ),
        verify=verify_takes_lists,
        solution=solve_takes_lists,
    ),
    Exercise(
        id="non-array-inputs/2",
        title="a text and a number",
        stub=compiled,
        hints=(
            "jit refuses a text, unless it is told that the text belongs to the program.",
            "static_argnames takes names of parameters.",
            "Only the mode: a static rate would compile anew for each of its values.",
        ),
        verify=verify_compiled,
        solution=solve_compiled,
    ),
    Exercise(
        id="non-array-inputs/3",
        title="a border that hears integers being cut",
        stub=to_jax,
        hints=(
            "jax.tree.map calls a function of yours on each leaf.",
            "Convert, and compare what came out with what went in.",
            "Only integers (leaf.dtype.kind in 'iu') must come through exactly; "
            "np.array_equal compares, then raise OverflowError.",
        ),
        verify=verify_to_jax,
        solution=solve_to_jax,
    ),
)
