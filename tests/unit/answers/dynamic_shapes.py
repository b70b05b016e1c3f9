"""Answers to the exercises of *Dynamic shapes*: foreseen mistakes, and other right ones."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.exercises import exercises

BUCKETED = exercises()["dynamic-shapes/1"].solution


def in_jax(sentences, sizes):
    return tuple(map(jnp.asarray, BUCKETED(sentences, sizes)))


def to_the_longest(sentences, sizes):
    longest = max(map(len, sentences))
    return BUCKETED(sentences, (longest,))


def first_that_fits(sentences, sizes):
    longest = max(map(len, sentences))
    return BUCKETED(sentences, [next((s for s in sizes if s >= longest), 0)])


def cut_off(sentences, sizes):
    return BUCKETED([s[: max(sizes)] for s in sentences], sizes)


def known_by_value(sentences, sizes):
    tokens, _ = BUCKETED(sentences, sizes)
    return tokens, tokens != 0


def known_as_floats(sentences, sizes):
    tokens, known = BUCKETED(sentences, sizes)
    return tokens, known.astype(np.float32)


def padded_in_jax(sentences, sizes):
    tokens, known = BUCKETED(sentences, sizes)
    rows = [jnp.pad(jnp.array(s), (0, tokens.shape[1] - len(s))) for s in sentences]
    return np.stack(rows), known


def filled_with_minus_one(signal, threshold, size):
    above = signal > threshold
    return jnp.nonzero(above, size=size, fill_value=-1)[0], above.sum()


def filled_with_five(signal, threshold, size):
    above = signal > threshold
    return jnp.nonzero(above, size=size, fill_value=5)[0], above.sum()


def filled_with_zero(signal, threshold, size):
    above = signal > threshold
    return jnp.nonzero(above, size=size)[0], above.sum()


def counted_after(signal, threshold, size):
    places = jnp.nonzero(signal > threshold, size=size, fill_value=len(signal))[0]
    return places, (places < len(signal)).sum()


def no_size(signal, threshold, size):
    places = jnp.nonzero(signal > threshold)[0]
    short = max(size - len(places), 0)
    return jnp.pad(places, (0, short), constant_values=len(signal))[:size], len(places)


def by_top_k(signal, threshold, size):
    above = signal > threshold
    return jax.lax.top_k(jnp.where(above, jnp.arange(len(signal)), -1), size)[1], above.sum()


def sorted_places(signal, threshold, size):
    above = signal > threshold
    n = len(signal)
    places = jnp.sort(jnp.where(above, jnp.arange(n), n))
    places = jnp.pad(places, (0, max(size - n, 0)), constant_values=n)[:size]
    return places, above.sum()


def by_attributes(before, now):
    if jax.tree.structure(before) != jax.tree.structure(now):
        return "tree"
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(now), strict=True):
        if np.shape(a) != np.shape(b):
            return "shape"
        if np.asarray(a).dtype != np.asarray(b).dtype:
            return "dtype"
    return None


def by_result_type(before, now):
    if jax.tree.structure(before) != jax.tree.structure(now):
        return "tree"
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(now), strict=True):
        if jnp.shape(a) != jnp.shape(b):
            return "shape"
        if jnp.asarray(a).dtype != jnp.asarray(b).dtype:
            return "dtype"
    return None


def by_weak_type(before, now):
    reason = by_result_type(before, now)
    if reason is None:
        pairs = zip(jax.tree.leaves(before), jax.tree.leaves(now), strict=True)
        if any(jnp.asarray(a).weak_type != jnp.asarray(b).weak_type for a, b in pairs):
            return "weak"
    return reason


def dtype_first(before, now):
    reason = by_weak_type(before, now)
    if reason == "shape" and jnp.asarray(before[0]).dtype != jnp.asarray(now[0]).dtype:
        return "dtype"
    return reason


def by_python_type(before, now):
    reason = by_result_type(before, now)
    if reason is None and any(
        isinstance(a, float) != isinstance(b, float) for a, b in zip(before, now, strict=True)
    ):
        return "weak"
    return reason


WRONG = {
    "dynamic-shapes/1": [
        (in_jax, "padding with jnp compiles for every new length"),
        (to_the_longest, "have the shape (2, 3), should be (2, 4)"),
        (first_that_fits, "take the smallest that fits"),
        (cut_off, "without a word"),
        (known_by_value, "a token 0 at the start of a sentence is a token"),
        (known_as_floats, "known should hold booleans"),
        (padded_in_jax, "makes JAX compile"),
        (lambda *given: tuple(a.tolist() for a in BUCKETED(*given)), "two arrays of NumPy's"),
        (lambda sentences, sizes: np.zeros((2, 4)), "a pair, (tokens, known)"),
    ],
    "dynamic-shapes/2": [
        (filled_with_zero, "looks like a peak at the start"),
        (filled_with_minus_one, "which reads the last element"),
        (filled_with_five, "a signal of two elements is filled with 2"),
        (counted_after, "which is cut off"),
        (no_size, "under jit, no_size(signal=["),
        (by_top_k, "the places are"),
    ],
    "dynamic-shapes/3": [
        (lambda before, now: "shape", "must return 'dtype', got 'shape': integers after floats"),
        (by_attributes, "an array's float after a Python float"),
        (by_result_type, "must return 'weak'"),
        (dtype_first, "must return 'shape', got 'dtype': four integers after three floats"),
        (by_python_type, "which stays weak"),
        (lambda before, now: "tree" if before != now else None, "raises TypeError"),
    ],
}
RIGHT = [
    ("dynamic-shapes/2", sorted_places),
    ("dynamic-shapes/3", by_weak_type),
]
