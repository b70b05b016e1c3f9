"""Right and wrong answers to the exercises on non-array inputs."""

import functools

import jax
import jax.numpy as jnp
import numpy as np


def convert_inside_jit(function):
    return jax.jit(lambda numbers: function(jnp.asarray(numbers)))


def jit_each_time(function):
    return lambda numbers: jax.jit(lambda x: function(x))(np.asarray(numbers, np.float32))


def reject_every_int64(batch):
    if any(leaf.dtype == np.int64 for leaf in jax.tree.leaves(batch)):
        raise OverflowError("an integer does not fit")
    return jax.tree.map(jnp.asarray, batch)


def check_upper_limit_only(batch):
    for leaf in jax.tree.leaves(batch):
        if leaf.max() > 2**31 - 1 and leaf.dtype == np.int64:
            raise OverflowError("too large")
    return jax.tree.map(jnp.asarray, batch)


def check_int64_only(batch):
    def convert(leaf):
        if leaf.dtype == np.int64 and (np.abs(leaf) > 2**31).any():
            raise OverflowError("too large")
        return jnp.asarray(leaf)

    return jax.tree.map(convert, batch)


def check_ids_only(batch):
    ids = batch["ids"]
    if ids.dtype.kind in "iu" and not np.array_equal(jnp.asarray(ids), ids):
        raise OverflowError("ids")
    return jax.tree.map(jnp.asarray, batch)


def compare_in_jax(batch):
    def convert(leaf):
        converted = jnp.asarray(leaf)
        if leaf.dtype.kind in "iu" and not jnp.array_equal(converted, leaf):
            raise OverflowError("it does not fit")
        return converted

    return jax.tree.map(convert, batch)


def assert_instead_of_raise(batch):
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


def by_size_except_unsigned(batch):
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


def convert_all_to_int32(batch):
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf, jnp.int32) if leaf.dtype.kind in "iu" else jnp.asarray(leaf),
        convert_within_limits(batch),
    )


def convert_within_limits(batch):
    return check_dtype_limits(batch)


def check_round_trip(batch):
    converted = jax.tree.map(jnp.asarray, batch)
    for before, after in zip(jax.tree.leaves(batch), jax.tree.leaves(converted), strict=True):
        if before.dtype.kind in "iu" and (np.asarray(after).astype(before.dtype) != before).any():
            raise OverflowError("an integer does not fit")
    return converted


def jit_once(function):
    @jax.jit
    def jitted(x):
        return function(x)

    def wrapped(numbers):
        return jitted(np.array(list(numbers), dtype="float32"))

    return wrapped


def jit_per_mode(step):
    programs = {}

    def run(x, rate, mode):
        if mode not in programs:
            programs[mode] = jax.jit(functools.partial(step, mode=mode))
        return programs[mode](x, rate)

    return run


def jit_per_call(step):
    return lambda x, rate, mode: jax.jit(lambda x, rate: step(x, rate, mode))(x, rate)


def convert_rate_to_float(step):
    return jax.jit(lambda x, rate, mode: step(x, float(rate), mode), static_argnums=2)


def pass_mode_as_index(step):
    modes = ["train", "test"]
    jitted = jax.jit(lambda x, rate, mode: step(x, rate, mode))
    return lambda x, rate, mode: jitted(x, rate, modes.index(mode))


def pass_scalars(function):
    jitted = jax.jit(lambda *numbers: function(jnp.stack(numbers)))
    return lambda numbers: jitted(*numbers)


def check_dtype_limits(batch):
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
            "four calls with three numbers each must share one trace, got 2 traces: float32[3], "
            "int32[3]",
        ),
        (
            convert_inside_jit,
            "four calls with three numbers each must share one trace, got 4 traces",
        ),
        (pass_scalars, "four calls with three numbers each must share one trace, got 4 traces"),
        (jit_each_time, "four calls with three numbers each must share one trace, got 4 traces"),
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
        (jit_per_call, "three rates must share one trace, got 3 traces"),
        (convert_rate_to_float, "Choose with `jnp.where`"),
        (pass_mode_as_index, "step must receive mode as a string, got a"),
        (jax.jit, "as an abstract array"),
        (lambda step: step, "is not jitted"),
        (
            lambda step: jax.jit(step, static_argnames=("rate", "mode")),
            "three rates must share one trace, got 3 traces",
        ),
        (
            lambda step: functools.partial(jax.jit(step, static_argnames="mode"), mode="train"),
            "raises TypeError",
        ),
    ],
    "non-array-inputs/3": [
        (lambda batch: jax.tree.map(jnp.asarray, batch), "but the ids become [3, 705032704]"),
        (reject_every_int64, "raises OverflowError"),
        (
            by_size,
            "for an array of uint32, by_size(batch={'ids': [3000000000]}) raises OverflowError",
        ),
        (
            by_size_except_unsigned,
            "for ids with 2**31, your function must raise OverflowError, but the ids become "
            "[[0], [-2147483648]]",
        ),
        (by_size_of_int64, "(batch={'ids': [7, 2147483647, -2147483648]}) raises"),
        (without_a_size, "for an empty array, without_a_size(batch={'ids': []}) raises ValueError"),
        (convert_all_to_int32, "an array of dtype uint8 must become uint8, got int32"),
        (
            check_upper_limit_only,
            "for ids with -5_000_000_000, your function must raise OverflowError, but the ids "
            "become [-705032704]",
        ),
        (
            check_int64_only,
            "for ids with 2**31, your function must raise OverflowError, but the ids become "
            "[[0], [-2147483648]]",
        ),
        (
            check_ids_only,
            "your function accepts 2**32 + 3 in a list inside the batch; check every leaf",
        ),
        (
            compare_in_jax,
            "for ids with 5_000_000_000, your function must raise OverflowError, but the ids "
            "become [3, 705032704]",
        ),
        (assert_instead_of_raise, "must raise OverflowError, got AssertionError"),
        (lambda batch: batch, "each leaf must be a JAX array, got a ndarray"),
        (
            lambda batch: jnp.asarray(batch["ids"]),
            "the result must have the same tree structure as the batch",
        ),
    ],
}
RIGHT = [
    ("non-array-inputs/1", jit_once),
    ("non-array-inputs/2", jit_per_mode),
    ("non-array-inputs/3", check_round_trip),
    ("non-array-inputs/1", lambda f: (lambda j: lambda n: j(jnp.array(n, float)))(jax.jit(f))),
    ("non-array-inputs/2", lambda step: jax.jit(step, static_argnums=2)),
    ("non-array-inputs/3", check_dtype_limits),
]
