"""Right and wrong answers to the exercises on asynchronous dispatch."""

import time
import timeit

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback


def time_calls(function, x, warm=1, wait=True, calls=5, pick=min):
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


def never_block(function, x):
    function(x)
    start = time.perf_counter()
    for _ in range(5):
        function(x)
    return (time.perf_counter() - start) / 5


def mean(times):
    return sum(times) / len(times)


def time_first_call(function, x):
    start = time.perf_counter()
    jax.block_until_ready(function(x))
    return time.perf_counter() - start


def block_on_each_leaf(function, x):
    def once():
        start = time.perf_counter()
        jax.tree.map(lambda leaf: leaf.block_until_ready(), function(x))
        return time.perf_counter() - start

    once()
    return min(once() for _ in range(5))


def block_on_one_leaf(function, x, which=0):
    def once():
        start = time.perf_counter()
        jax.tree.leaves(function(x))[which].block_until_ready()
        return time.perf_counter() - start

    once()
    return min(once() for _ in range(5))


def block_after_timing(function, x):
    jax.block_until_ready(function(x))
    times, results = [], []
    for _ in range(5):
        start = time.perf_counter()
        results.append(function(x))
        times.append(time.perf_counter() - start)
    jax.block_until_ready(results)
    return min(times)


def use_timeit(function, x):
    def once():
        return jax.block_until_ready(function(x))

    once()
    return min(timeit.repeat(once, number=1, repeat=5))


def return_jax_array(function, x):
    """Do not block on the first call, use `time.monotonic`, and return a JAX array."""
    function(x)
    times = []
    for _ in range(5):
        start = time.monotonic()
        jax.block_until_ready(function(x))
        times.append(time.monotonic() - start)
    return jnp.min(jnp.array(times))


def median(times):
    return sorted(times)[len(times) // 2]


def share_arrays(params):
    return {"params": params, "average": params}


def copy_average_only(params):
    return {"params": params, "average": jax.tree.map(jnp.copy, params)}


def convert_to_numpy(params):
    return {name: jax.tree.map(np.array, params) for name in ("params", "average")}


def copy_params_with(copy):
    return lambda params: {
        "params": jax.tree.map(copy, params),
        "average": jax.tree.map(jnp.copy, params),
    }


def copy_average_with(copy):
    return lambda params: {
        "params": jax.tree.map(jnp.copy, params),
        "average": jax.tree.map(copy, params),
    }


def copy_once(params):
    copied = jax.tree.map(jnp.copy, params)
    return {"params": copied, "average": copied}


def interpolate(x, places, values):
    return np.interp(x, places, values).astype(np.float32)


def callback(x, places, values, dtype=np.float32, convert=np.asarray, **options):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)
    return jax.pure_callback(
        lambda *a: np.interp(*map(convert, a)).astype(dtype), shape, x, places, values, **options
    )


def use_jnp_interp(x, places, values):
    return jnp.interp(x, places, values)


def call_jnp_in_callback(x, places, values):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)
    return jax.pure_callback(
        lambda *a: jnp.interp(*a), shape, x, places, values, vmap_method="sequential"
    )


def convert_only_x(x, places, values):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)
    return jax.pure_callback(
        lambda x, *rest: interpolate(np.asarray(x), *rest),
        shape,
        x,
        places,
        values,
        vmap_method="sequential",
    )


def return_jax_array_from_callback(x, places, values):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)
    return jax.pure_callback(
        lambda *a: jnp.asarray(interpolate(*map(np.asarray, a))),
        shape,
        x,
        places,
        values,
        vmap_method="sequential",
    )


def interpolate_row_by_row(x, places, values):
    return jnp.concatenate([interpolate_at_least_1d(row, places, values) for row in x])


def interpolate_at_least_1d(x, places, values):
    return jnp.atleast_1d(callback(x, places, values, vmap_method="sequential"))


def use_io_callback(x, places, values):
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)

    def read(x, places, values):
        return np.interp(np.array(x), np.array(places), np.array(values)).astype("float32")

    return io_callback(read, shape, x, places, values)


def use_expand_dims(x, places, values):
    """Interpolate a batch in one call, in which `places` and `values` have an axis of size 1."""
    shape = jax.ShapeDtypeStruct(jnp.shape(x), jnp.float32)

    def read(x, places, values):
        x, places, values = np.asarray(x), np.ravel(np.asarray(places)), np.asarray(values).ravel()
        return np.interp(x, places, values).astype(np.float32)

    return jax.pure_callback(read, shape, x, places, values, vmap_method="expand_dims")


def fixed_shape(x, places, values):
    shape = jax.ShapeDtypeStruct((3,), jnp.float32)
    return jax.pure_callback(interpolate, shape, x, places, values, vmap_method="sequential")


WRONG = {
    "async-dispatch/1": [
        (
            never_block,
            "your function never waits for a result, so it measures only how fast calls return",
        ),
        (lambda f, x: time_calls(f, x, wait=False), "wait for the whole result before"),
        (
            time_first_call,
            "your function calls the given function only once, but the first call includes "
            "compilation; time later calls",
        ),
        (
            lambda f, x: time_calls(f, x, warm=0, calls=6, pick=max),
            "which is the time of the first call",
        ),
        (
            lambda f, x: time_calls(f, x, warm=0, calls=6, pick=mean),
            "which is the average that includes the first call",
        ),
        (
            lambda f, x: time_calls(f, x, warm=0),
            "your function must call the given function 6 times, got 5; call it once to "
            "compile it, and five times to time it",
        ),
        (lambda f, x: time_calls(f, x, pick=mean), "which is the average of the five times"),
        (lambda f, x: time_calls(f, x, pick=median), "which is the median of the five"),
        (
            lambda f, x: time_calls(f, x, pick=lambda times: times[-1]),
            "which is the last of the five",
        ),
        (block_on_one_leaf, "wait for the whole result before"),
        (lambda f, x: block_on_one_leaf(f, x, -1), "wait for the whole result before"),
        (
            lambda f, x: time_calls(f, x, calls=3),
            "your function must call the given function 6 times, got 4; call it once to "
            "compile it, and five times to time it",
        ),
        (
            lambda f, x: [time_calls(f, x)],
            "your function must return a number of seconds, got a list",
        ),
        (lambda f, x: time_calls(f, x, pick=max), "which is the longest of the five times"),
        (lambda f, x: 1e3 * time_calls(f, x), "more than any of the calls took"),
        (lambda f, x: time_calls(f, x) * float("nan"), "your function returns nan ms"),
        (block_after_timing, "wait for the whole result before"),
    ],
    "async-dispatch/2": [
        (share_arrays, "share their arrays"),
        (copy_once, "share their arrays"),
        (
            copy_average_only,
            "after the first step with a donated state, the caller's params are deleted",
        ),
        (copy_params_with(jnp.asarray), "the caller's params are deleted"),
        (copy_params_with(lambda x: x[:]), "the caller's params are deleted"),
        (copy_params_with(jax.device_put), "the caller's params are deleted"),
        (copy_average_with(jnp.asarray), 'state["average"] holds'),
        (lambda params: {"params": params.copy(), "average": params.copy()}, "share their arrays"),
        (lambda params: {**params}, 'the keys "params" and "average"'),
        (
            convert_to_numpy,
            'state["params"] must contain JAX arrays, because only those are donated',
        ),
        (
            lambda params: {
                "params": jax.tree.map(jnp.copy, params),
                "average": jax.tree.map(jnp.zeros_like, params),
            },
            'state["average"] must have the same values as params',
        ),
    ],
    "async-dispatch/3": [
        (interpolate, "under jit, "),
        (callback, "vmap_method"),
        (use_jnp_interp, "use jax.pure_callback"),
        (
            lambda *args: callback(*args, dtype=np.int32, vmap_method="sequential"),
            "A callback must return the shape and the dtype that you declared",
        ),
        (fixed_shape, "fixed_shape(x=2.0"),
        (call_jnp_in_callback, "the callback calls jnp.interp"),
        (
            lambda *args: callback(*args, convert=lambda a: a, vmap_method="sequential"),
            "np.interp receives a JAX array",
        ),
        (convert_only_x, "np.interp receives a JAX array"),
        (return_jax_array_from_callback, "the callback returns a JAX array"),
        (interpolate_row_by_row, "iteration over a 0-d array"),
    ],
}
RIGHT = [
    ("async-dispatch/1", block_on_each_leaf),
    ("async-dispatch/1", use_timeit),
    ("async-dispatch/1", return_jax_array),
    (
        "async-dispatch/2",
        lambda params: jax.tree.map(jnp.array, {"params": params, "average": params}),
    ),
    ("async-dispatch/2", copy_params_with(lambda x: x + 0)),
    ("async-dispatch/2", copy_params_with(lambda x: jnp.asarray(np.array(x)))),
    ("async-dispatch/3", use_io_callback),
    ("async-dispatch/3", use_expand_dims),
]
