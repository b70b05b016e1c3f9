"""The exercises for chapter 08, dynamic shapes and recompilation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import _jax_compat
from jaxbits._formatting import format_value
from jaxbits.book.exercises.assertions import (
    AnswerRejected,
    assert_equal,
    assert_returns,
    call,
    call_text,
    count_traces,
    under_jit,
)
from jaxbits.book.exercises.base import Exercise

SIZES = (4, 8)


def bucketed(sentences: Sequence[Sequence[int]], sizes: Sequence[int]) -> Any:
    """Return (tokens, known): sentences padded to the smallest size that fits, and their mask."""
    raise NotImplementedError


def solve_bucketed(sentences: Sequence[Sequence[int]], sizes: Sequence[int]) -> Any:
    """Pad in NumPy, so that nothing is compiled, and reject a sentence that fits no size."""
    longest = max(len(sentence) for sentence in sentences)
    fitting = [size for size in sizes if size >= longest]
    if not fitting:
        raise ValueError(f"the sizes must hold {longest} tokens, got {sizes}")
    tokens = np.zeros((len(sentences), min(fitting)), np.int32)
    known = np.zeros(tokens.shape, bool)
    for row, sentence in enumerate(sentences):
        tokens[row, : len(sentence)] = sentence
        known[row, : len(sentence)] = True
    return tokens, known


def verify_bucketed(answer: Callable[..., Any]) -> None:
    """Check the sizes, the padding, the mask, and the ValueError, and reject any compilation."""
    sentences = [[5, 6], [7, 8, 9]]
    result = call(answer, sentences, SIZES)
    if not isinstance(result, tuple) or len(result) != 2:
        raise AnswerRejected(
            f"the result must be a pair (tokens, known), got {format_value(result)}"
        )
    tokens, known = result
    if not all(isinstance(part, np.ndarray | jax.Array) for part in result):
        raise AnswerRejected("the pair must contain two NumPy arrays")
    if isinstance(tokens, jax.Array) or isinstance(known, jax.Array):
        raise AnswerRejected(
            "the pair must contain NumPy arrays; padding with jnp compiles a program per length"
        )
    given = f"for sentences of 2 and 3 tokens and the sizes {SIZES}, "
    assert_equal(np.shape(tokens), (2, 4), f"{given}the shape of tokens must be")
    assert_equal(tokens.tolist(), [[5, 6, 0, 0], [7, 8, 9, 0]], f"{given}tokens must be")
    assert_equal(str(known.dtype), "bool", "the dtype of known must be")
    wanted = np.array([[1, 1, 0, 0], [1, 1, 1, 0]], bool)
    assert_equal(known, wanted, f"{given}known must be")
    if tokens.dtype.kind not in "iu":
        raise AnswerRejected(f"tokens must have an integer dtype, got {tokens.dtype}")
    tokens, known = call(answer, [[0, 3], [4]], SIZES)
    wanted = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], bool)
    why = "a 0 in a sentence is a token, so use the sentences' lengths, not their values"
    assert_equal(known, wanted, "for the sentences [0, 3] and [4], known must be", why)
    for count, size in ((4, 4), (5, 8), (8, 8)):
        shape = np.shape(call(answer, [[1] * count], SIZES)[0])
        assert_equal(shape, (1, size), f"for a sentence of {count} tokens, the shape must be")
    shape = np.shape(call(answer, [[1] * 3], (16, 8, 4))[0])
    what = "for 3 tokens and the sizes (16, 8, 4), the shape must be"
    assert_equal(shape, (1, 4), what, "take the smallest size that fits")
    with _jax_compat.fresh_caches(), _jax_compat.count_compilations("compile") as compiled:
        call(answer, [[1] * 3, [1] * 7, [1] * 11], (13,))
    if compiled[0]:
        raise AnswerRejected(
            f"a batch with new lengths must not compile any programs, got "
            f"{compiled[0]}; pad in NumPy"
        )
    try:
        cut = answer([[1] * 9], SIZES)
    except ValueError:
        return
    except Exception as error:
        what = "no size fits 9 tokens, so your function must raise a ValueError"
        raise AnswerRejected(f"{what}, got {type(error).__name__}") from error
    raise AnswerRejected(
        "no size fits 9 tokens, so your function must raise a ValueError, but it returns "
        f"tokens of shape {np.shape(cut[0])}"
    )


def peaks(signal: jax.Array, threshold: float, size: int) -> Any:
    """Return (places, count): the indices of the first `size` peaks, and the number of all peaks.

    A peak is a value above the threshold. If there are fewer than `size`, the remaining places
    contain the length of the signal.
    """
    raise NotImplementedError


def solve_peaks(signal: jax.Array, threshold: float, size: int) -> Any:
    """Fill with an index that the signal does not have, and count before `size` drops any peaks."""
    above = signal > threshold
    (places,) = jnp.nonzero(above, size=size, fill_value=len(signal))
    return places, above.sum()


def verify_peaks(answer: Callable[..., Any]) -> None:
    """Test signals with no peaks, with fewer than `size`, and with more, eagerly and under jit."""
    signal = jnp.array([0.0, 5.0, 1.0, 7.0, 9.0])
    seen = call(answer, signal, 4.0, 4)
    if not isinstance(seen, tuple | list) or len(seen) != 2:
        raise AnswerRejected(f"the result must be a pair (places, count), got {format_value(seen)}")
    places = np.asarray(seen[0]).tolist()
    if places == [1, 3, 4, 0]:
        raise AnswerRejected(
            "the last entry of places is 0, which looks like a peak at the start; fill it with 5, "
            "the length of the signal"
        )
    if places == [1, 3, 4, -1]:
        raise AnswerRejected(
            "the last entry of places is -1, the index of the last element; fill it with 5, "
            "the length of the signal"
        )
    two = jnp.array([9.0, 0.0])
    for given, threshold, size, wanted, number, why in (
        (signal, 4.0, 4, [1, 3, 4, 5], 3, ""),
        (signal, 4.0, 2, [1, 3], 3, "the count must include the peak that does not fit"),
        (signal, 99.0, 2, [5, 5], 0, "nothing is above the threshold"),
        (signal, 4.0, 7, [1, 3, 4, 5, 5, 5, 5], 3, "size may be larger than the signal"),
        (two, 4.0, 2, [0, 2], 1, "the length of this signal is 2"),
    ):
        _must_find(answer, (given, threshold, size), (wanted, number), why)
    jitted = under_jit(answer, static=(2,))
    for threshold, wanted, number in ((4.0, [1, 3], 3), (8.0, [4, 5], 1)):
        _must_find(
            answer, (signal, threshold, 2), (wanted, number), how="under jit, ", through=jitted
        )

    @functools.wraps(answer)
    def of_two(signal: Any, threshold: Any) -> Any:
        return answer(signal, threshold, 2)

    count = count_traces(of_two, [(signal, 4.0), (signal, 8.0), (signal, 99.0)])
    assert_equal(count, 1, "the number of traces for three thresholds must be")


def _must_find(
    answer: Callable[..., Any],
    args: tuple[Any, ...],
    expected: tuple[list[int], int],
    why: str = "",
    how: str = "",
    through: Callable[..., Any] | None = None,
) -> None:
    """Check the places and the count, both of which may have any integer dtype."""
    places, count = call(answer, *args, how=how, through=through)
    seen = np.asarray(places).tolist(), np.asarray(count).tolist()
    assert_equal(seen, expected, f"{how}{call_text(answer, args)} must return", why)


def why_traced_again(before: tuple[Any, ...], now: tuple[Any, ...]) -> Any:
    """Return why jit traces f(*now) after f(*before): "tree", "shape", "dtype", "weak", or None."""
    raise NotImplementedError


def solve_why_traced_again(before: tuple[Any, ...], now: tuple[Any, ...]) -> Any:
    """Compare the trees, and then the shape, dtype, and weak type of each leaf, as jit does."""
    trees: list[Any] = [jax.tree.structure(args) for args in (before, now)]
    if trees[0] != trees[1]:
        return "tree"
    seen = [jax.tree.leaves(jax.eval_shape(lambda *a: a, *args)) for args in (before, now)]
    for name, key in (("shape", "shape"), ("dtype", "dtype"), ("weak", "weak_type")):
        if any(getattr(a, key) != getattr(b, key) for a, b in zip(*seen, strict=True)):
            return name
    return None


def verify_why_traced_again(answer: Callable[..., Any]) -> None:
    """Test each cause of a retrace, and pairs of calls that share a program."""
    x = jnp.ones(3)
    cases: list[tuple[str | None, Any, Any, str]] = [
        ("shape", (x,), (jnp.ones(4),), "four elements after three"),
        ("dtype", (x,), (jnp.ones(3, jnp.int32),), "integers after floats"),
        ("tree", ([x],), ((x,),), "a tuple after a list"),
        ("tree", ((x, None),), ((x, x),), "an array instead of None"),
        (None, (x,), (x + 1,), "different values of the same kind"),
        (None, (1.0,), (2.0,), "a different Python float"),
        ("weak", (1.0,), (jnp.float32(1.0),), "a float32 after a Python float"),
        ("dtype", (1,), (1.0,), "a Python float after a Python int"),
        (None, (x,), (np.ones(3),), "a float64 NumPy array, which jit turns into float32"),
        (None, ({"a": x, "b": x},), ({"b": x, "a": x},), "the same keys in a different order"),
        ("shape", (x, 1.0), (jnp.ones((3, 1)), 1.0), "a column after a row"),
        ("tree", ([x],), ((jnp.ones(4),),), "a tuple after a list, with a longer array in it"),
        ("shape", (x,), (jnp.ones(4, jnp.int32),), "four integers after three floats"),
        ("dtype", (1,), (jnp.float32(1.0),), "a float32 after a Python int"),
        (
            None,
            (1.0,),
            (jnp.asarray(1.0),),
            "an array made from a Python float, which stays weakly typed",
        ),
        (None, (np.float32(1.0),), (jnp.float32(1.0),), "a JAX float32 after a NumPy float32"),
    ]
    for expected, before, now, what in cases:
        assert_returns(answer, before, now, expected=expected, why=what)


EXERCISES = (
    Exercise(
        id="dynamic-shapes/1",
        title="a batch in a bucket",
        stub=bucketed,
        hints=(
            "Use one size for the whole batch. Find the longest sentence, and then the smallest "
            "size that holds it. The sizes may be in any order.",
            "Make two NumPy arrays of that shape, one of zeros and one of False, and write each "
            "sentence to the start of its row. Padding with jnp would compile for each length.",
            "If no size is large enough, raise a ValueError. Do not truncate a sentence silently.",
        ),
        verify=verify_bucketed,
        solution=solve_bucketed,
    ),
    Exercise(
        id="dynamic-shapes/2",
        title="peaks and their number",
        stub=peaks,
        hints=(
            "jnp.nonzero works under jit if you give it a size. What does it fill the rest with?",
            "0 is an index, and so is -1. The length of the signal is not, so use "
            "fill_value=len(signal). Count the booleans instead of the places, because size= may "
            "drop places.",
            "With above = signal > threshold, jnp.nonzero(above, size=..., fill_value=...) returns "
            "a tuple of one array, and above.sum() is the count.",
        ),
        verify=verify_peaks,
        solution=solve_peaks,
    ),
    Exercise(
        id="dynamic-shapes/3",
        title="the cause of a retrace",
        stub=why_traced_again,
        hints=(
            (
                "jit looks up a program by the tree structure, and by the shape, the dtype, and "
                "the weak type of each leaf. Values do not matter."
            ),
            "Compare trees with jax.tree.structure. A Python float has no .dtype, but "
            "jax.eval_shape(lambda *a: a, *args) returns what jit makes of each leaf.",
            (
                "The leaves that eval_shape returns have .shape, .dtype, and .weak_type. "
                "Compare all leaves by the first, then by the second, then by the third."
            ),
        ),
        verify=verify_why_traced_again,
        solution=solve_why_traced_again,
    ),
)
