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
    if not np.array_equal(jnp.asarray(batch["ids"]), batch["ids"]):
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


def by_limits(batch):
    def convert(leaf):
        kind = jax.dtypes.canonicalize_dtype(leaf.dtype)
        if leaf.dtype.kind in "iu":
            limits = np.iinfo(kind)
            if leaf.min() < limits.min or leaf.max() > limits.max:
                raise OverflowError(leaf.dtype)
        return jnp.asarray(leaf, kind)

    return jax.tree.map(convert, batch)


WRONG = {
    "non-array-inputs/1": [
        (jax.jit, "jit has taken it apart before"),
        (lambda f: lambda numbers: f(jnp.asarray(numbers, jnp.float32)), "is not jitted"),
        (lambda f: (lambda j: lambda n: j(np.asarray(n)))(jax.jit(f)), "were traced 2 times"),
        (converts_inside, "were traced"),
        (jits_each_time, "were traced 4 times"),
        (lambda f: lambda numbers: max(numbers) - min(numbers), "was never called"),
        (
            lambda f: (lambda j: lambda n: j(jnp.array(n, jnp.float16)))(jax.jit(f)),
            "should be 4002.0",
        ),
    ],
    "non-array-inputs/2": [
        (jax.jit, "as an abstract array"),
        (lambda step: step, "is not jitted"),
        (lambda step: jax.jit(step, static_argnames=("rate", "mode")), "three rates were traced"),
        (
            lambda step: functools.partial(jax.jit(step, static_argnames="mode"), mode="train"),
            "raises TypeError",
        ),
    ],
    "non-array-inputs/3": [
        (lambda batch: jax.tree.map(jnp.asarray, batch), "become [3, 705032704]"),
        (every_long_integer, "raises OverflowError"),
        (only_upwards, "ids with -5 billion pass"),
        (only_in_int64, "ids with 5 billion, in uint64 pass"),
        (only_the_ids, "look at each leaf of the tree"),
        (compares_in_jax, "ids with 5 billion pass"),
        (asserts, "should be OverflowError"),
        (lambda batch: batch, "should be an array of JAX's"),
        (lambda batch: jnp.asarray(batch["ids"]), "a tree of the form of the batch"),
    ],
}
RIGHT = [
    ("non-array-inputs/1", lambda f: (lambda j: lambda n: j(jnp.array(n, float)))(jax.jit(f))),
    ("non-array-inputs/2", lambda step: jax.jit(step, static_argnums=2)),
    ("non-array-inputs/3", by_limits),
]
