"""Answers to the exercises of *How JAX reads your program*: foreseen mistakes, other right ones."""

import jax
import jax.numpy as jnp
import optax

LOGGED: list = []


def float_of_max(x, factor):
    scaled = x * factor
    return scaled, float(jnp.abs(scaled).max())


def log_outside(x, factor):
    scaled = x * factor
    LOGGED.append(jnp.abs(scaled).max())
    return scaled, LOGGED[0]


def traces_by_shape(function, calls):
    return len({args[0].shape for args in calls if hasattr(args[0], "shape")})


def traces_of_one_jit(function, calls, seen=None, kept=[]):  # noqa: B006
    def counted(*args):
        kept.append(1)
        return function(*args)

    before = len(kept)
    for args in calls:
        CACHE.setdefault(id(function), jax.jit(counted))(*args)
    return len(kept) - before


CACHE: dict = {}


WRONG = {
    "tracing/1": [
        (lambda function, calls: len(calls), "five calls with one shape are traced once"),
        (traces_by_shape, "one shape, but two dtypes"),
        (lambda function, calls: "two", "should return a whole number"),
        (traces_of_one_jit, "begin afresh each time"),
    ],
    "tracing/2": [
        (float_of_max, "raises ConcretizationTypeError"),
        (log_outside, "must return"),
        (lambda x, factor: x * factor, "should return a pair"),
    ],
    "tracing/3": [
        (lambda params: sum(jnp.sum(v**2) for v in params.values()), "raises TypeError"),
        (lambda params: jax.tree.map(lambda v: jnp.sum(v**2), params), "must return 14.0"),
        (
            lambda params: jax.tree.reduce(
                jnp.add, jax.tree.map(lambda v: jnp.sum(v**2), params), None
            ),
            "raises TypeError",
        ),
        (
            lambda params: jnp.float32(sum(float(jnp.sum(v**2)) for v in jax.tree.leaves(params))),
            "under jit, f(params=",
        ),
        (
            lambda params: sum(
                (jnp.linalg.norm(v) ** 2 for v in jax.tree.leaves(params)), jnp.float32(0)
            ),
            "the slope of 0² is 0",
        ),
    ],
}
RIGHT = [
    ("tracing/3", lambda params: sum(jnp.sum(v**2) for v in jax.tree.leaves(params))),
    ("tracing/3", lambda params: optax.tree.norm(params, squared=True)),
    ("tracing/2", lambda x, f: [x * f, jnp.max(jnp.abs(x * f))]),
]
