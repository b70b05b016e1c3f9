"""Answers to the exercises of *Asynchronous dispatch*: foreseen mistakes, and other right ones."""

import time

import jax
import jax.numpy as jnp
import numpy as np


def timed(function, x, warm=1, wait=True, calls=5, pick=min):
    for _ in range(warm):
        jax.block_until_ready(function(x))
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        result = function(x)
        if wait:
            jax.block_until_ready(result)
        times.append(time.perf_counter() - start)
    return pick(times)


def never_waited(function, x):
    function(x)
    start = time.perf_counter()
    for _ in range(5):
        function(x)
    return (time.perf_counter() - start) / 5


def mean(times):
    return sum(times) / len(times)


def cold(function, x):
    start = time.perf_counter()
    jax.block_until_ready(function(x))
    return time.perf_counter() - start


def by_leaves(function, x):
    def once():
        start = time.perf_counter()
        jax.tree.map(lambda leaf: leaf.block_until_ready(), function(x))
        return time.perf_counter() - start

    once()
    return min(once() for _ in range(5))


def first_leaf(function, x, which=0):
    def once():
        start = time.perf_counter()
        jax.tree.leaves(function(x))[which].block_until_ready()
        return time.perf_counter() - start

    once()
    return min(once() for _ in range(5))


def median(times):
    return sorted(times)[len(times) // 2]


def one_array(params):
    return {"params": params, "average": params}


def average_copied(params):
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def in_numpy(params):
    return {name: jax.tree.map(np.array, params) for name in ("params", "average")}


def copied_once(params):
    copied = jax.tree.map(jnp.copy, params)
    return {"params": copied, "average": copied}


def interpolated(x, places, values):
    return np.interp(x, places, values).astype(np.float32)


def callback(x, places, values, dtype=np.float32, **options):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)
    return jax.pure_callback(
        lambda *a: np.interp(*a).astype(dtype), shape, x, places, values, **options
    )


def without_numpy(x, places, values):
    return jnp.interp(x, places, values)


def jax_inside(x, places, values):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)
    return jax.pure_callback(
        lambda *a: jnp.interp(*a), shape, x, places, values, vmap_method="sequential"
    )


def fixed_shape(x, places, values):
    shape = jax.ShapeDtypeStruct((3,), jnp.float32)
    return jax.pure_callback(interpolated, shape, x, places, values, vmap_method="sequential")


WRONG = {
    "async-dispatch/1": [
        (never_waited, "nobody waited for the results"),
        (lambda f, x: timed(f, x, wait=False), "wait for the whole result, in each"),
        (cold, "the function was called once"),
        (lambda f, x: timed(f, x, warm=0, calls=6, pick=max), "The first call compiles"),
        (lambda f, x: timed(f, x, warm=0, calls=6, pick=mean), "The first call compiles"),
        (lambda f, x: timed(f, x, warm=0), "was called 5 times, should be 6"),
        (lambda f, x: timed(f, x, pick=mean), "take the shortest"),
        (lambda f, x: timed(f, x, pick=median), "take the shortest"),
        (lambda f, x: timed(f, x, pick=lambda times: times[-1]), "take the shortest"),
        (first_leaf, "wait for the whole result"),
        (lambda f, x: first_leaf(f, x, -1), "wait for the whole result"),
        (lambda f, x: timed(f, x, calls=3), "was called 4 times, should be 6"),
        (lambda f, x: [timed(f, x)], "it should return a number"),
    ],
    "async-dispatch/2": [
        (one_array, "params and average are one array"),
        (copied_once, "params and average are one array"),
        (average_copied, "the caller's params are deleted"),
        (in_numpy, "should hold JAX arrays"),
        (
            lambda params: {
                "params": jax.tree.map(jnp.copy, params),
                "average": jax.tree.map(jnp.zeros_like, params),
            },
            "should begin with the values of params",
        ),
    ],
    "async-dispatch/3": [
        (interpolated, "under jit, "),
        (callback, "vmap_method"),
        (without_numpy, "use jax.pure_callback"),
        (
            lambda *args: callback(*args, dtype=np.int32, vmap_method="sequential"),
            "A callback must return the shape and type",
        ),
        (fixed_shape, "fixed_shape(x=2.0"),
        (jax_inside, "the callback calls jnp.interp"),
    ],
}
RIGHT = [
    ("async-dispatch/1", by_leaves),
    (
        "async-dispatch/2",
        lambda params: jax.tree.map(jnp.array, {"params": params, "average": params}),
    ),
    (
        "async-dispatch/3",
        lambda x, places, values: jax.pure_callback(
            lambda x, p, v: interpolated(x, np.ravel(p)[:3], np.ravel(v)[:3]),
            jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32),
            x,
            places,
            values,
            vmap_method="sequential",
        ),
    ),
]
