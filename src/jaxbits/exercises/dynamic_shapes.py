"""The exercises of chapter 08, dynamic shapes and recompilation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import compat
from jaxbits.exercises.core import Exercise
from jaxbits.exercises.properties import NotYet, call, returns, traces

SIZES = (4, 8)


def bucketed(sentences: Sequence[Sequence[int]], sizes: Sequence[int]) -> Any:
    """Return (tokens, known): all sentences padded to the smallest size that holds them all."""
    raise NotImplementedError


def solve_bucketed(sentences: Sequence[Sequence[int]], sizes: Sequence[int]) -> Any:
    """Pad in NumPy, so that nothing is compiled, and refuse what no size holds."""
    longest = max(len(sentence) for sentence in sentences)
    fitting = [size for size in sizes if size >= longest]
    if not fitting:
        raise ValueError(f"a sentence of {longest} tokens fits into none of {sizes}")
    tokens = np.zeros((len(sentences), min(fitting)), np.int32)
    known = np.zeros(tokens.shape, bool)
    for row, sentence in enumerate(sentences):
        tokens[row, : len(sentence)] = sentence
        known[row, : len(sentence)] = True
    return tokens, known


def verify_bucketed(answer: Callable[..., Any]) -> None:
    """Ask for sizes, padding, the mask, NumPy arrays that compile nothing, and a refusal."""
    sentences = [[5, 6], [7, 8, 9]]
    result = call(answer, sentences, SIZES)
    if not isinstance(result, tuple) or len(result) != 2:
        raise NotYet("it should return a pair, (tokens, known)")
    tokens, known = result
    if not all(isinstance(part, np.ndarray | jax.Array) for part in result):
        raise NotYet("it should return two arrays of NumPy's")
    if isinstance(tokens, jax.Array) or isinstance(known, jax.Array):
        raise NotYet("it returns JAX arrays: padding with jnp compiles for every new length")
    if np.shape(tokens) != (2, 4):
        raise NotYet(
            f"for sentences of 2 and 3 tokens and the sizes {SIZES} the tokens have the shape "
            f"{np.shape(tokens)}, should be (2, 4)"
        )
    if not np.array_equal(tokens, [[5, 6, 0, 0], [7, 8, 9, 0]]):
        raise NotYet(f"the tokens are {np.asarray(tokens).tolist()}, padded with 0 they are not")
    if np.asarray(known).dtype != bool:
        raise NotYet(f"known should hold booleans, it holds {np.asarray(known).dtype}")
    if not np.array_equal(known, [[1, 1, 0, 0], [1, 1, 1, 0]]):
        raise NotYet(f"known is {np.asarray(known).tolist()} for sentences of 2 and 3 tokens")
    if np.asarray(tokens).dtype.kind not in "iu":
        raise NotYet(f"the tokens are {np.asarray(tokens).dtype}, and should be integers")
    tokens, known = call(answer, [[0, 3], [4]], SIZES)
    if not np.array_equal(np.asarray(known)[:, :2], [[1, 1], [1, 0]]):
        raise NotYet("a token 0 at the start of a sentence is a token: count, do not compare")
    for count, size in ((4, 4), (5, 8), (8, 8)):
        shape = np.shape(call(answer, [[1] * count], SIZES)[0])
        if shape != (1, size):
            raise NotYet(f"a sentence of {count} tokens gives {shape}, should be {(1, size)}")
    shape = np.shape(call(answer, [[1] * 3], (16, 8, 4))[0])
    if shape != (1, 4):
        raise NotYet(
            f"with the sizes (16, 8, 4) 3 tokens give {shape}: take the smallest that fits"
        )
    with compat.fresh_caches(), compat.counted("compile") as compiled:
        call(answer, [[1] * 3, [1] * 7, [1] * 11], (13,))
    if compiled[0]:
        raise NotYet(
            f"a batch with new lengths makes JAX compile {compiled[0]} programs, should be none: "
            "pad in NumPy"
        )
    try:
        cut = answer([[1] * 9], SIZES)
    except ValueError:
        return
    except Exception as error:
        raise NotYet(f"9 tokens fit into no size: raise a ValueError, not {error!r}") from error
    raise NotYet(
        f"9 tokens fit into no size, and it returns {np.shape(cut[0])} without a word: "
        "raise a ValueError"
    )


def peaks(signal: jax.Array, threshold: float, size: int) -> Any:
    """Return (places, count): the first `size` places above the threshold, and how many there are.

    Where there are fewer, the places are filled with the length of the signal.
    """
    raise NotImplementedError


def solve_peaks(signal: jax.Array, threshold: float, size: int) -> Any:
    """Fill with what is no index, and count before anything is cut."""
    above = signal > threshold
    (places,) = jnp.nonzero(above, size=size, fill_value=len(signal))
    return places, above.sum()


def verify_peaks(answer: Callable[..., Any]) -> None:
    """Ask for places and counts with room left, with none, with too many, and under jit."""
    signal = jnp.array([0.0, 5.0, 1.0, 7.0, 9.0])
    seen = call(answer, signal, 4.0, 4)
    if not isinstance(seen, tuple) or len(seen) != 2:
        raise NotYet("it should return a pair, (places, count)")
    places, count = np.asarray(seen[0]), seen[1]
    if places.tolist() == [1, 3, 4, 0]:
        raise NotYet("the last place is 0, which looks like a peak at the start: fill with 5")
    if places.tolist() == [1, 3, 4, -1]:
        raise NotYet("the last place is -1, which reads the last element: fill with 5, the length")
    wrong = f"for (signal={signal.tolist()}, threshold=4.0, size=4) the places are"
    if places.tolist() != [1, 3, 4, 5]:
        raise NotYet(f"{wrong} {places.tolist()}, should be [1, 3, 4, 5]")
    if np.shape(count) != () or int(count) != 3:
        raise NotYet(f"three values are above 4, the count is {np.asarray(count).tolist()}")
    places, count = call(answer, signal, 4.0, 2)
    if np.asarray(places).tolist() != [1, 3]:
        raise NotYet(f"with size=2 the places are {np.asarray(places).tolist()}, should be [1, 3]")
    if int(count) != 3:
        raise NotYet(
            f"with size=2 the count is {int(count)}: count the third, too, which is cut off"
        )
    places, count = call(answer, signal, 99.0, 2)
    if np.asarray(places).tolist() != [5, 5] or int(count) != 0:
        raise NotYet("with nothing above the threshold it should return 5, 5 and the count 0")
    places, count = call(answer, signal, 4.0, 7)
    if np.asarray(places).tolist() != [1, 3, 4, 5, 5, 5, 5]:
        raise NotYet("size may be larger than the signal: then all that is left is its length")
    places, count = call(answer, jnp.array([9.0, 0.0]), 4.0, 2)
    if np.asarray(places).tolist() != [0, 2] or int(count) != 1:
        raise NotYet("a signal of two elements is filled with 2, and its place 0 may be a peak")
    jitted = jax.jit(lambda signal, threshold: answer(signal, threshold, 2))
    for threshold, expected in ((4.0, [1, 3]), (8.0, [4, 5])):
        places, count = call(jitted, signal, threshold, how="under jit, ")
        if np.asarray(places).tolist() != expected:
            raise NotYet(f"under jit, with the threshold {threshold} it returns other places")
    calls = [(signal, 4.0), (signal, 8.0), (signal, 99.0)]
    if traces(lambda signal, threshold: answer(signal, threshold, 2), calls) > 1:
        raise NotYet("another threshold is traced again")


def why_traced_again(before: tuple[Any, ...], now: tuple[Any, ...]) -> Any:
    """Return why jit traces f(*now) after f(*before): "tree", "shape", "dtype", "weak" or None."""
    raise NotImplementedError


def solve_why_traced_again(before: tuple[Any, ...], now: tuple[Any, ...]) -> Any:
    """Compare what jit compares: the tree first, then what `eval_shape` says of each leaf."""
    trees: list[Any] = [jax.tree.structure(args) for args in (before, now)]
    if trees[0] != trees[1]:
        return "tree"
    seen = [jax.tree.leaves(jax.eval_shape(lambda *a: a, *args)) for args in (before, now)]
    for name, key in (("shape", "shape"), ("dtype", "dtype"), ("weak", "weak_type")):
        if any(getattr(a, key) != getattr(b, key) for a, b in zip(*seen, strict=True)):
            return name
    return None


def verify_why_traced_again(answer: Callable[..., Any]) -> None:
    """Ask for each cause, and for pairs of calls that are one program."""
    x = jnp.ones(3)
    cases: list[tuple[str | None, Any, Any, str]] = [
        ("shape", (x,), (jnp.ones(4),), "four elements after three"),
        ("dtype", (x,), (jnp.ones(3, jnp.int32),), "integers after floats"),
        ("tree", ([x],), ((x,),), "a tuple after a list"),
        ("tree", ((x, None),), ((x, x),), "an array where None was"),
        (None, (x,), (x + 1,), "other values of the same kind"),
        (None, (1.0,), (2.0,), "another Python float"),
        ("weak", (1.0,), (jnp.float32(1.0),), "an array's float after a Python float"),
        ("dtype", (1,), (1.0,), "a Python float after a Python int"),
        (None, (x,), (np.ones(3),), "a float64 of NumPy's, which jit makes a float32"),
        (None, ({"a": x, "b": x},), ({"b": x, "a": x},), "the same keys in another order"),
        ("shape", (x, 1.0), (jnp.ones((3, 1)), 1.0), "a column after a row"),
        ("tree", ([x],), ((jnp.ones(4),),), "a tuple after a list, and a longer array in it"),
        ("shape", (x,), (jnp.ones(4, jnp.int32),), "four integers after three floats"),
        ("dtype", (1,), (jnp.float32(1.0),), "an array's float after a Python int"),
        (None, (1.0,), (jnp.asarray(1.0),), "an array made of a Python float, which stays weak"),
        (None, (np.float32(1.0),), (jnp.float32(1.0),), "JAX's float32 after NumPy's"),
    ]
    for expected, before, now, what in cases:
        returns(answer, before, now, expected=expected, why=what)


EXERCISES = (
    Exercise(
        id="dynamic-shapes/1",
        title="a batch in a bucket",
        stub=bucketed,
        hints=(
            "One size for the whole batch: find the longest sentence first, then the smallest of "
            "the sizes that holds it. The sizes may come in any order.",
            "Make two NumPy arrays of that shape, zeros and False, and write each sentence over "
            "the start of its row. Padding with jnp would compile for each length.",
            "When no size is large enough, raise a ValueError: a sentence that is cut off in "
            "silence is the very thing to avoid.",
        ),
        verify=verify_bucketed,
        solution=solve_bucketed,
    ),
    Exercise(
        id="dynamic-shapes/2",
        title="peaks, and how many there were",
        stub=peaks,
        hints=(
            "jnp.nonzero works under jit when it is told a size. What does it fill with?",
            "0 is a place, and so is -1. The length of the signal is none: fill_value=len(signal). "
            "And the count: take it from the booleans, before anything is cut.",
            "above = signal > threshold; jnp.nonzero(above, size=..., fill_value=...) returns a "
            "tuple of one array; above.sum() is the count.",
        ),
        verify=verify_peaks,
        solution=solve_peaks,
    ),
    Exercise(
        id="dynamic-shapes/3",
        title="the cause of a retrace",
        stub=why_traced_again,
        hints=(
            "Four things make the key: the tree, and of each leaf its shape, its dtype, and "
            "whether it is weak. Values do not count.",
            "jax.tree.structure compares trees. A Python float has no .dtype; "
            "jax.eval_shape(lambda *a: a, *args) says what jit makes of each leaf.",
            "What eval_shape returns has .shape, .dtype and .weak_type. Compare them leaf by leaf, "
            "in that order.",
        ),
        verify=verify_why_traced_again,
        solution=solve_why_traced_again,
    ),
)
