"""Answers to the exercises of *Asynchronous dispatch*: foreseen mistakes, and other right ones."""

import time
import timeit

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback


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


def waited_at_the_end(function, x):
    jax.block_until_ready(function(x))
    times, results = [], []
    for _ in range(5):
        start = time.perf_counter()
        results.append(function(x))
        times.append(time.perf_counter() - start)
    jax.block_until_ready(results)
    return min(times)


def by_timeit(function, x):
    def once():
        return jax.block_until_ready(function(x))

    once()
    return min(timeit.repeat(once, number=1, repeat=5))


def in_jax_numbers(function, x):
    """Compile without waiting, use another clock, and return an array."""
    function(x)
    times = []
    for _ in range(5):
        start = time.monotonic()
        jax.block_until_ready(function(x))
        times.append(time.monotonic() - start)
    return jnp.min(jnp.array(times))


def median(times):
    return sorted(times)[len(times) // 2]


def one_array(params):
    return {"params": params, "average": params}


def average_copied(params):
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def in_numpy(params):
    return {name: jax.tree.map(np.array, params) for name in ("params", "average")}


def params_by(copy):
    return lambda params: {
        "params": jax.tree.map(copy, params),
        "average": jax.tree.map(jnp.copy, params),
    }


def average_by(copy):
    return lambda params: {
        "params": jax.tree.map(jnp.copy, params),
        "average": jax.tree.map(copy, params),
    }


def copied_once(params):
    copied = jax.tree.map(jnp.copy, params)
    return {"params": copied, "average": copied}


def interpolated(x, places, values):
    return np.interp(x, places, values).astype(np.float32)


def callback(x, places, values, dtype=np.float32, convert=np.asarray, **options):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)
    return jax.pure_callback(
        lambda *a: np.interp(*map(convert, a)).astype(dtype), shape, x, places, values, **options
    )


def without_numpy(x, places, values):
    return jnp.interp(x, places, values)


def jax_inside(x, places, values):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)
    return jax.pure_callback(
        lambda *a: jnp.interp(*a), shape, x, places, values, vmap_method="sequential"
    )


def converted_in_part(x, places, values):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)
    return jax.pure_callback(
        lambda x, *rest: interpolated(np.asarray(x), *rest),
        shape,
        x,
        places,
        values,
        vmap_method="sequential",
    )


def in_jax_again(x, places, values):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)
    return jax.pure_callback(
        lambda *a: jnp.asarray(interpolated(*map(np.asarray, a))),
        shape,
        x,
        places,
        values,
        vmap_method="sequential",
    )


def in_shape_of_a_row(x, places, values):
    return jnp.concatenate([without_jit(row, places, values) for row in x])


def without_jit(x, places, values):
    return jnp.atleast_1d(callback(x, places, values, vmap_method="sequential"))


def by_io_callback(x, places, values):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)

    def read(x, places, values):
        return np.interp(np.array(x), np.array(places), np.array(values)).astype("float32")

    return io_callback(read, shape, x, places, values)


def all_at_once(x, places, values):
    """One call for a whole batch: places and values come with an axis of size 1."""
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)

    def read(x, places, values):
        x, places, values = np.asarray(x), np.ravel(np.asarray(places)), np.asarray(values).ravel()
        return np.interp(x, places, values).astype(np.float32)

    return jax.pure_callback(read, shape, x, places, values, vmap_method="expand_dims")


def fixed_shape(x, places, values):
    shape = jax.ShapeDtypeStruct((3,), jnp.float32)
    return jax.pure_callback(interpolated, shape, x, places, values, vmap_method="sequential")


WRONG = {
    "async-dispatch/1": [
        (
            never_waited,
            "your function never waits for a result, so it measures only how fast calls return",
        ),
        (lambda f, x: timed(f, x, wait=False), "wait for the whole result before"),
        (cold, "your function calls the given function only once, and the first call compiles"),
        (
            lambda f, x: timed(f, x, warm=0, calls=6, pick=max),
            "which is the time of the first call",
        ),
        (
            lambda f, x: timed(f, x, warm=0, calls=6, pick=mean),
            "which is the average with the first call",
        ),
        (
            lambda f, x: timed(f, x, warm=0),
            "your function must call the given function 6 times, got 5: once to compile, and "
            "five times to measure",
        ),
        (lambda f, x: timed(f, x, pick=mean), "which is the average of the five times"),
        (lambda f, x: timed(f, x, pick=median), "which is the median of the five"),
        (lambda f, x: timed(f, x, pick=lambda times: times[-1]), "which is the last of the five"),
        (first_leaf, "wait for the whole result before"),
        (lambda f, x: first_leaf(f, x, -1), "wait for the whole result before"),
        (
            lambda f, x: timed(f, x, calls=3),
            "your function must call the given function 6 times, got 4: once to compile, and "
            "five times to measure",
        ),
        (lambda f, x: [timed(f, x)], "your function must return a number of seconds, got a list"),
        (lambda f, x: timed(f, x, pick=max), "which is the longest of the five times"),
        (lambda f, x: 1e3 * timed(f, x), "more than any of the calls took"),
        (lambda f, x: timed(f, x) * float("nan"), "your function returns nan ms"),
        (waited_at_the_end, "wait for the whole result before"),
    ],
    "async-dispatch/2": [
        (one_array, "share their arrays"),
        (copied_once, "share their arrays"),
        (
            average_copied,
            "after the first step with a donated state, the caller's params are deleted",
        ),
        (params_by(jnp.asarray), "the caller's params are deleted"),
        (params_by(lambda x: x[:]), "the caller's params are deleted"),
        (params_by(jax.device_put), "the caller's params are deleted"),
        (average_by(jnp.asarray), 'state["average"] holds'),
        (lambda params: {"params": params.copy(), "average": params.copy()}, "share their arrays"),
        (lambda params: {**params}, 'the keys "params" and "average"'),
        (in_numpy, 'state["params"] must contain JAX arrays, because only those are donated'),
        (
            lambda params: {
                "params": jax.tree.map(jnp.copy, params),
                "average": jax.tree.map(jnp.zeros_like, params),
            },
            'state["average"] must start with the values of params',
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
        (
            lambda *args: callback(*args, convert=lambda a: a, vmap_method="sequential"),
            "np.interp receives a JAX array",
        ),
        (converted_in_part, "np.interp receives a JAX array"),
        (in_jax_again, "the callback returns a JAX array"),
        (in_shape_of_a_row, "iteration over a 0-d array"),
    ],
}
RIGHT = [
    ("async-dispatch/1", by_leaves),
    ("async-dispatch/1", by_timeit),
    ("async-dispatch/1", in_jax_numbers),
    (
        "async-dispatch/2",
        lambda params: jax.tree.map(jnp.array, {"params": params, "average": params}),
    ),
    ("async-dispatch/2", params_by(lambda x: x + 0)),
    ("async-dispatch/2", params_by(lambda x: jnp.asarray(np.array(x)))),
    ("async-dispatch/3", by_io_callback),
    ("async-dispatch/3", all_at_once),
]
