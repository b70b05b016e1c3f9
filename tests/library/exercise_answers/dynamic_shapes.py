"""Right and wrong answers to the exercises on dynamic shapes."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.book.exercises import all_exercises

BUCKETED = all_exercises()["dynamic-shapes/1"].solution


def return_jax_arrays(sentences, sizes):
    return tuple(map(jnp.asarray, BUCKETED(sentences, sizes)))


def pad_to_longest(sentences, sizes):
    longest = max(map(len, sentences))
    return BUCKETED(sentences, (longest,))


def take_first_size_that_fits(sentences, sizes):
    longest = max(map(len, sentences))
    return BUCKETED(sentences, [next((s for s in sizes if s >= longest), 0)])


def truncate_sentences(sentences, sizes):
    return BUCKETED([s[: max(sizes)] for s in sentences], sizes)


def pad_first_sentence_only(sentences, sizes):
    return BUCKETED(sentences[:1], sizes)


def assert_instead_of_raise(sentences, sizes):
    assert max(map(len, sentences)) <= max(sizes)
    return BUCKETED(sentences, sizes)


def return_float_tokens(sentences, sizes):
    tokens, known = BUCKETED(sentences, sizes)
    return tokens.astype(float), known


def pad_by_lengths(sentences, sizes):
    lengths = np.array([len(s) for s in sentences])
    size = next((s for s in sorted(sizes) if s >= lengths.max()), None)
    if size is None:
        raise ValueError(f"no size holds {lengths.max()}")
    known = np.arange(size) < lengths[:, None]
    tokens = np.zeros(known.shape, int)
    tokens[known] = np.concatenate([np.array(s, int) for s in sentences])
    return tokens, known


def mask_from_values(sentences, sizes):
    tokens, _ = BUCKETED(sentences, sizes)
    return tokens, tokens != 0


def return_float_mask(sentences, sizes):
    tokens, known = BUCKETED(sentences, sizes)
    return tokens, known.astype(np.float32)


def pad_with_jnp(sentences, sizes):
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


def count_after_truncation(signal, threshold, size):
    indices = jnp.nonzero(signal > threshold, size=size, fill_value=len(signal))[0]
    return indices, (indices < len(signal)).sum()


def use_top_k_without_peaks(signal, threshold, size):
    _, indices = jax.lax.top_k(signal, min(size, len(signal)))
    indices = jnp.sort(jnp.pad(indices, (0, size - len(indices)), constant_values=len(signal)))
    (few,) = jnp.nonzero(signal > threshold, size=size, fill_value=len(signal))
    above = signal > threshold
    return jnp.where(above.any(), few, indices), above.sum()


def slice_mask(signal, threshold, size):
    above = signal > threshold
    return jnp.where(above, jnp.arange(len(signal)), len(signal))[:size], above.sum()


def use_flatnonzero(signal, threshold, size):
    above = jnp.greater(signal, threshold)
    indices = jnp.flatnonzero(above, size=size, fill_value=signal.shape[0])
    return [indices, jnp.count_nonzero(above)]


def no_size(signal, threshold, size):
    indices = jnp.nonzero(signal > threshold)[0]
    short = max(size - len(indices), 0)
    return jnp.pad(indices, (0, short), constant_values=len(signal))[:size], len(indices)


def use_top_k(signal, threshold, size):
    above = signal > threshold
    return jax.lax.top_k(jnp.where(above, jnp.arange(len(signal)), -1), size)[1], above.sum()


def sort_indices(signal, threshold, size):
    above = signal > threshold
    n = len(signal)
    indices = jnp.sort(jnp.where(above, jnp.arange(n), n))
    indices = jnp.pad(indices, (0, max(size - n, 0)), constant_values=n)[:size]
    return indices, above.sum()


def compare_numpy_dtypes(before, now):
    if jax.tree.structure(before) != jax.tree.structure(now):
        return "tree"
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(now), strict=True):
        if np.shape(a) != np.shape(b):
            return "shape"
        if np.asarray(a).dtype != np.asarray(b).dtype:
            return "dtype"
    return None


def ignore_weak_types(before, now):
    if jax.tree.structure(before) != jax.tree.structure(now):
        return "tree"
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(now), strict=True):
        if jnp.shape(a) != jnp.shape(b):
            return "shape"
        if jnp.asarray(a).dtype != jnp.asarray(b).dtype:
            return "dtype"
    return None


def compare_weak_types(before, now):
    reason = ignore_weak_types(before, now)
    if reason is None:
        pairs = zip(jax.tree.leaves(before), jax.tree.leaves(now), strict=True)
        if any(jnp.asarray(a).weak_type != jnp.asarray(b).weak_type for a, b in pairs):
            return "weak"
    return reason


def check_dtype_before_shape(before, now):
    reason = compare_weak_types(before, now)
    if reason == "shape" and jnp.asarray(before[0]).dtype != jnp.asarray(now[0]).dtype:
        return "dtype"
    return reason


def compare_python_types(before, now):
    reason = ignore_weak_types(before, now)
    if reason is None and any(
        isinstance(a, float) != isinstance(b, float) for a, b in zip(before, now, strict=True)
    ):
        return "weak"
    return reason


def use_typeof(before, now):
    if jax.tree.structure(before) != jax.tree.structure(now):
        return "tree"
    pairs = zip(jax.tree.leaves(before), jax.tree.leaves(now), strict=True)
    kinds = [[jax.typeof(jnp.asarray(x)) for x in pair] for pair in pairs]
    for name, key in (("shape", "shape"), ("dtype", "dtype"), ("weak", "weak_type")):
        if any(getattr(a, key) != getattr(b, key) for a, b in kinds):
            return name
    return None


def check_leaf_by_leaf(before, now):
    if jax.tree.structure(before) != jax.tree.structure(now):
        return "tree"
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(now), strict=True):
        for name, of in (("dtype", jnp.result_type), ("shape", jnp.shape)):
            if of(jnp.asarray(a)) != of(jnp.asarray(b)):
                return name
    return None


def compare_values(before, now):
    if jax.tree.structure(before) != jax.tree.structure(now):
        return "tree"
    return compare_weak_types(before, now) or ("value" if str(before) != str(now) else None)


WRONG = {
    "dynamic-shapes/1": [
        (return_jax_arrays, "padding with jnp compiles a program per length"),
        (pad_to_longest, "the shape of tokens must be (2, 4), got (2, 3)"),
        (take_first_size_that_fits, "take the smallest size that fits"),
        (pad_first_sentence_only, "the shape of tokens must be (2, 4), got (1, 4)"),
        (
            assert_instead_of_raise,
            "no size fits 9 tokens, so your function must raise a ValueError, got AssertionError",
        ),
        (return_float_tokens, "tokens must have an integer dtype, got float64"),
        (
            truncate_sentences,
            "no size fits 9 tokens, so your function must raise a ValueError, but it returns "
            "tokens of shape (1, 8)",
        ),
        (mask_from_values, "a 0 in a sentence is a token"),
        (return_float_mask, "the dtype of known must be 'bool', got 'float32'"),
        (pad_with_jnp, "must not compile any programs, got"),
        (
            lambda *args: tuple(a.tolist() for a in BUCKETED(*args)),
            "the pair must contain two NumPy arrays",
        ),
        (lambda sentences, sizes: np.zeros((2, 4)), "the result must be a pair (tokens, known)"),
    ],
    "dynamic-shapes/2": [
        (filled_with_zero, "looks like a peak at the start"),
        (filled_with_minus_one, "the index of the last element"),
        (filled_with_five, "the length of this signal is 2"),
        (count_after_truncation, "the count must include the peak that does not fit"),
        (use_top_k_without_peaks, "must return ([5, 5], 0)"),
        (slice_mask, "must return ([1, 3, 4, 5], 3)"),
        (no_size, "under jit, no_size(signal=["),
        (use_top_k, "must return ([1, 3, 4, 5], 3), got ([4, 3, 1, 0], 3)"),
    ],
    "dynamic-shapes/3": [
        (lambda before, now: "shape", "must return 'dtype', got 'shape': integers after floats"),
        (compare_numpy_dtypes, "a float32 after a Python float"),
        (check_leaf_by_leaf, "must return 'weak', got None"),
        (compare_values, "must return None, got 'value': different values of the same kind"),
        (ignore_weak_types, "must return 'weak'"),
        (
            check_dtype_before_shape,
            "must return 'shape', got 'dtype': four integers after three floats",
        ),
        (compare_python_types, "which stays weakly typed"),
        (lambda before, now: "tree" if before != now else None, "raises TypeError"),
    ],
}
RIGHT = [
    ("dynamic-shapes/1", pad_by_lengths),
    ("dynamic-shapes/2", use_flatnonzero),
    ("dynamic-shapes/3", use_typeof),
    ("dynamic-shapes/2", sort_indices),
    ("dynamic-shapes/3", compare_weak_types),
]
