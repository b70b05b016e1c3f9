"""Answers to the exercises of *Dynamic shapes*: foreseen mistakes, and other right ones."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book.exercises import all_exercises

BUCKETED = all_exercises()["dynamic-shapes/1"].solution


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


def each_by_itself(sentences, sizes):
    return BUCKETED(sentences[:1], sizes)


def asserts(sentences, sizes):
    assert max(map(len, sentences)) <= max(sizes)
    return BUCKETED(sentences, sizes)


def as_floats(sentences, sizes):
    tokens, known = BUCKETED(sentences, sizes)
    return tokens.astype(float), known


def by_lengths(sentences, sizes):
    lengths = np.array([len(s) for s in sentences])
    size = next((s for s in sorted(sizes) if s >= lengths.max()), None)
    if size is None:
        raise ValueError(f"no size holds {lengths.max()}")
    known = np.arange(size) < lengths[:, None]
    tokens = np.zeros(known.shape, int)
    tokens[known] = np.concatenate([np.array(s, int) for s in sentences])
    return tokens, known


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


def by_at_least(signal, threshold, size):
    _, places = jax.lax.top_k(signal, min(size, len(signal)))
    places = jnp.sort(jnp.pad(places, (0, size - len(places)), constant_values=len(signal)))
    (few,) = jnp.nonzero(signal > threshold, size=size, fill_value=len(signal))
    above = signal > threshold
    return jnp.where(above.any(), few, places), above.sum()


def a_mask(signal, threshold, size):
    above = signal > threshold
    return jnp.where(above, jnp.arange(len(signal)), len(signal))[:size], above.sum()


def by_flatnonzero(signal, threshold, size):
    above = jnp.greater(signal, threshold)
    places = jnp.flatnonzero(above, size=size, fill_value=signal.shape[0])
    return [places, jnp.count_nonzero(above)]


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


def by_typeof(before, now):
    if jax.tree.structure(before) != jax.tree.structure(now):
        return "tree"
    pairs = zip(jax.tree.leaves(before), jax.tree.leaves(now), strict=True)
    kinds = [[jax.typeof(jnp.asarray(x)) for x in pair] for pair in pairs]
    for name, key in (("shape", "shape"), ("dtype", "dtype"), ("weak", "weak_type")):
        if any(getattr(a, key) != getattr(b, key) for a, b in kinds):
            return name
    return None


def leaf_by_leaf(before, now):
    if jax.tree.structure(before) != jax.tree.structure(now):
        return "tree"
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(now), strict=True):
        for name, of in (("dtype", jnp.result_type), ("shape", jnp.shape)):
            if of(jnp.asarray(a)) != of(jnp.asarray(b)):
                return name
    return None


def by_values(before, now):
    if jax.tree.structure(before) != jax.tree.structure(now):
        return "tree"
    return by_weak_type(before, now) or ("value" if str(before) != str(now) else None)


WRONG = {
    "dynamic-shapes/1": [
        (in_jax, "padding with jnp compiles for every length"),
        (to_the_longest, "the shape of tokens must be (2, 4), got (2, 3)"),
        (first_that_fits, "take the smallest size that fits"),
        (each_by_itself, "the shape of tokens must be (2, 4), got (1, 4)"),
        (
            asserts,
            "9 tokens fit no size, so your function must raise a ValueError, got AssertionError",
        ),
        (as_floats, "the dtype of tokens must be an integer, got float64"),
        (
            cut_off,
            "9 tokens fit no size, so your function must raise a ValueError, but it returns "
            "tokens of shape (1, 8)",
        ),
        (known_by_value, "a 0 in a sentence is a token"),
        (known_as_floats, "the dtype of known must be 'bool', got 'float32'"),
        (padded_in_jax, "must not compile anything, got"),
        (
            lambda *given: tuple(a.tolist() for a in BUCKETED(*given)),
            "the pair must contain two NumPy arrays",
        ),
        (lambda sentences, sizes: np.zeros((2, 4)), "the result must be a pair (tokens, known)"),
    ],
    "dynamic-shapes/2": [
        (filled_with_zero, "looks like a peak at the start"),
        (filled_with_minus_one, "which reads the last element"),
        (filled_with_five, "the length of this signal is 2"),
        (counted_after, "the count includes the peak that did not fit"),
        (by_at_least, "must return ([5, 5], 0)"),
        (a_mask, "must return ([1, 3, 4, 5], 3)"),
        (no_size, "under jit, no_size(signal=["),
        (by_top_k, "must return ([1, 3, 4, 5], 3), got ([4, 3, 1, 0], 3)"),
    ],
    "dynamic-shapes/3": [
        (lambda before, now: "shape", "must return 'dtype', got 'shape': integers after floats"),
        (by_attributes, "a float32 after a Python float"),
        (leaf_by_leaf, "must return 'weak', got None"),
        (by_values, "must return None, got 'value': different values of the same kind"),
        (by_result_type, "must return 'weak'"),
        (dtype_first, "must return 'shape', got 'dtype': four integers after three floats"),
        (by_python_type, "which stays weak"),
        (lambda before, now: "tree" if before != now else None, "raises TypeError"),
    ],
}
RIGHT = [
    ("dynamic-shapes/1", by_lengths),
    ("dynamic-shapes/2", by_flatnonzero),
    ("dynamic-shapes/3", by_typeof),
    ("dynamic-shapes/2", sorted_places),
    ("dynamic-shapes/3", by_weak_type),
]
