"""Answers to the exercises of *Non-array inputs*: foreseen mistakes, and other right ones."""

import functools

import jax
import jax.numpy as jnp
import numpy as np


def converts_inside(function):
    return jax.jit(lambda numbers: function(jnp.asarray(numbers)))


def jits_each_time(function):
    return lambda numbers: jax.jit(lambda x: function(x))(np.asarray(numbers, np.float32))


def every_long_integer(batch):
    if any(leaf.dtype == np.int64 for leaf in jax.tree.leaves(batch)):
        raise OverflowError("an integer does not fit")
    return jax.tree.map(jnp.asarray, batch)


def only_upwards(batch):
    for leaf in jax.tree.leaves(batch):
        if leaf.max() > 2**31 - 1 and leaf.dtype == np.int64:
            raise OverflowError("too large")
    return jax.tree.map(jnp.asarray, batch)


def only_in_int64(batch):
    def convert(leaf):
        if leaf.dtype == np.int64 and (np.abs(leaf) > 2**31).any():
            raise OverflowError("too large")
        return jnp.asarray(leaf)

    return jax.tree.map(convert, batch)


def only_the_ids(batch):
    ids = batch["ids"]
    if ids.dtype.kind in "iu" and not np.array_equal(jnp.asarray(ids), ids):
        raise OverflowError("ids")
    return jax.tree.map(jnp.asarray, batch)


def compares_in_jax(batch):
    def convert(leaf):
        converted = jnp.asarray(leaf)
        if leaf.dtype.kind in "iu" and not jnp.array_equal(converted, leaf):
            raise OverflowError("it does not fit")
        return converted

    return jax.tree.map(convert, batch)


def asserts(batch):
    def convert(leaf):
        converted = jnp.asarray(leaf)
        assert leaf.dtype.kind == "f" or np.array_equal(converted, leaf)
        return converted

    return jax.tree.map(convert, batch)


def by_size(batch):
    def convert(leaf):
        if leaf.dtype.kind in "iu" and leaf.size and abs(leaf).max() > 2**31:
            raise OverflowError(leaf.dtype)
        return jnp.asarray(leaf)

    return jax.tree.map(convert, batch)


def by_size_but_unsigned(batch):
    def convert(leaf):
        if leaf.dtype == np.int64 and leaf.size and abs(leaf).max() > 2**31:
            raise OverflowError(leaf.dtype)
        return jnp.asarray(leaf)

    return jax.tree.map(convert, batch)


def by_size_of_int64(batch):
    def convert(leaf):
        if leaf.dtype == np.int64 and leaf.size and abs(leaf).max() >= 2**31:
            raise OverflowError(leaf.dtype)
        return jnp.asarray(leaf)

    return jax.tree.map(convert, batch)


def without_a_size(batch):
    def convert(leaf):
        kind = jax.dtypes.canonicalize_dtype(leaf.dtype)
        if leaf.dtype.kind in "iu":
            limits = np.iinfo(kind)
            if leaf.min() < limits.min or leaf.max() > limits.max:
                raise OverflowError(leaf.dtype)
        return jnp.asarray(leaf, kind)

    return jax.tree.map(convert, batch)


def all_in_int32(batch):
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf, jnp.int32) if leaf.dtype.kind in "iu" else jnp.asarray(leaf),
        BY_LIMITS(batch),
    )


def BY_LIMITS(batch):
    return by_limits(batch)


def there_and_back(batch):
    converted = jax.tree.map(jnp.asarray, batch)
    for before, after in zip(jax.tree.leaves(batch), jax.tree.leaves(converted), strict=True):
        if before.dtype.kind in "iu" and (np.asarray(after).astype(before.dtype) != before).any():
            raise OverflowError("an integer does not fit")
    return converted


def compiled_once(function):
    @jax.jit
    def jitted(x):
        return function(x)

    def wrapped(numbers):
        return jitted(np.array(list(numbers), dtype="float32"))

    return wrapped


def for_each_mode(step):
    programs = {}

    def run(x, rate, mode):
        if mode not in programs:
            programs[mode] = jax.jit(functools.partial(step, mode=mode))
        return programs[mode](x, rate)

    return run


def for_each_call(step):
    return lambda x, rate, mode: jax.jit(lambda x, rate: step(x, rate, mode))(x, rate)


def rate_captured(step):
    return jax.jit(lambda x, rate, mode: step(x, float(rate), mode), static_argnums=2)


def as_a_number(step):
    modes = ["train", "test"]
    jitted = jax.jit(lambda x, rate, mode: step(x, rate, mode))
    return lambda x, rate, mode: jitted(x, rate, modes.index(mode))


def flattened(function):
    jitted = jax.jit(lambda *numbers: function(jnp.stack(numbers)))
    return lambda numbers: jitted(*numbers)


def by_limits(batch):
    def convert(leaf):
        kind = jax.dtypes.canonicalize_dtype(leaf.dtype)
        if leaf.dtype.kind in "iu" and leaf.size:
            limits = np.iinfo(kind)
            if leaf.min() < limits.min or leaf.max() > limits.max:
                raise OverflowError(leaf.dtype)
        return jnp.asarray(leaf, kind)

    return jax.tree.map(convert, batch)


WRONG = {
    "non-array-inputs/1": [
        (
            jax.jit,
            "the function must receive an array, got a list; jit passes a list as a list of "
            "tracers",
        ),
        (lambda f: lambda numbers: f(jnp.asarray(numbers, jnp.float32)), "is not jitted"),
        (
            lambda f: (lambda j: lambda n: j(np.asarray(n)))(jax.jit(f)),
            "four calls with three numbers each must need one trace, got 2 traces: float32[3], "
            "int32[3]",
        ),
        (converts_inside, "four calls with three numbers each must need one trace, got 4 traces"),
        (flattened, "four calls with three numbers each must need one trace, got 4 traces"),
        (jits_each_time, "four calls with three numbers each must need one trace, got 4 traces"),
        (
            lambda f: lambda numbers: max(numbers) - min(numbers),
            "the values are right, but your function never calls the given function",
        ),
        (
            lambda f: (lambda j: lambda n: j(jnp.array(n, jnp.float16)))(jax.jit(f)),
            "must give 4002.0, got 4004.0",
        ),
    ],
    "non-array-inputs/2": [
        (for_each_call, "three rates must need one trace, got 3 traces"),
        (rate_captured, "Choose with `jnp.where`"),
        (as_a_number, "step must receive mode as a string, got a"),
        (jax.jit, "as an abstract array"),
        (lambda step: step, "is not jitted"),
        (
            lambda step: jax.jit(step, static_argnames=("rate", "mode")),
            "three rates must need one trace, got 3 traces",
        ),
        (
            lambda step: functools.partial(jax.jit(step, static_argnames="mode"), mode="train"),
            "raises TypeError",
        ),
    ],
    "non-array-inputs/3": [
        (lambda batch: jax.tree.map(jnp.asarray, batch), "but the ids become [3, 705032704]"),
        (every_long_integer, "raises OverflowError"),
        (
            by_size,
            "for an array of uint32, by_size(batch={'ids': [3000000000]}) raises OverflowError",
        ),
        (
            by_size_but_unsigned,
            "for ids with 2**31, your function must raise OverflowError, but the ids become "
            "[[0], [-2147483648]]",
        ),
        (by_size_of_int64, "(batch={'ids': [7, 2147483647, -2147483648]}) raises"),
        (without_a_size, "for an empty array, without_a_size(batch={'ids': []}) raises ValueError"),
        (all_in_int32, "a uint8 array must be converted to uint8, got int32"),
        (
            only_upwards,
            "for ids with -5_000_000_000, your function must raise OverflowError, but the ids "
            "become [-705032704]",
        ),
        (
            only_in_int64,
            "for ids with 2**31, your function must raise OverflowError, but the ids become "
            "[[0], [-2147483648]]",
        ),
        (only_the_ids, "2**32 + 3 is accepted inside a list of the batch; check every leaf"),
        (
            compares_in_jax,
            "for ids with 5_000_000_000, your function must raise OverflowError, but the ids "
            "become [3, 705032704]",
        ),
        (asserts, "must raise OverflowError, got AssertionError"),
        (lambda batch: batch, "each leaf must be a JAX array, got a ndarray"),
        (
            lambda batch: jnp.asarray(batch["ids"]),
            "the result must have the tree structure of the batch",
        ),
    ],
}
RIGHT = [
    ("non-array-inputs/1", compiled_once),
    ("non-array-inputs/2", for_each_mode),
    ("non-array-inputs/3", there_and_back),
    ("non-array-inputs/1", lambda f: (lambda j: lambda n: j(jnp.array(n, float)))(jax.jit(f))),
    ("non-array-inputs/2", lambda step: jax.jit(step, static_argnums=2)),
    ("non-array-inputs/3", by_limits),
]
