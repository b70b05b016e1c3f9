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


def log_outside_and_return(x, factor):
    scaled = x * factor
    largest = jnp.abs(scaled).max()
    LOGGED.append(largest)
    return scaled, largest


def log_in_a_default(x, factor, log=[]):  # noqa: B006
    scaled = x * factor
    log.append(jnp.abs(scaled).max())
    return scaled, log[-1]


def log_in_a_local_list(x, factor):
    scaled, log = x * factor, []
    log.append(jnp.abs(scaled).max())
    return scaled, log[-1]


def log_and_print(x, factor):
    scaled = x * factor
    print("scaled is", scaled)
    return scaled, jnp.abs(scaled).max()


def traces_by_shape(function, calls):
    return len({args[0].shape for args in calls if hasattr(args[0], "shape")})


def distinct_shapes_and_dtypes(function, calls):
    kinds = [[(jnp.shape(x), jnp.result_type(x)) for x in args] for args in calls]
    return len({tuple((shape, str(dtype)) for shape, dtype in kind) for kind in kinds})


def size_of_the_cache(function, calls):
    jitted = jax.jit(function)
    for args in calls:
        jitted(*args)
    return jitted._cache_size()


def size_of_a_new_cache(function, calls):
    return size_of_the_cache(lambda *args: function(*args), calls)


def traces_of_one_jit(function, calls, seen=None, kept=[]):  # noqa: B006
    def counted(*args):
        kept.append(1)
        return function(*args)

    before = len(kept)
    for args in calls:
        CACHE.setdefault(id(function), jax.jit(counted))(*args)
    return len(kept) - before


CACHE: dict = {}


def without_the_star(function, calls):
    traces = 0

    def counted(*args):
        nonlocal traces
        traces += 1
        return function(*args)

    jitted = jax.jit(counted)
    for args in calls:
        jitted(args)
    return traces


def counts_every_call(function, calls):
    count, jitted = 0, jax.jit(function)
    for args in calls:
        jitted(*args)
        count += 1
    return count


def jits_for_each_call(function, calls):
    traces = []

    def counted(*args):
        traces.append(1)
        return function(*args)

    for args in calls:
        jax.jit(lambda *args: counted(*args))(*args)
    return len(traces)


def with_a_list(function, calls):
    seen = []

    def noted(*args):
        seen.append(args)
        return function(*args)

    jitted = jax.jit(noted)
    jax.tree.map(lambda args: jitted(*args), calls, is_leaf=lambda x: isinstance(x, tuple))
    return jnp.int32(len(seen))


def largest_input(x, factor):
    return x * factor, jnp.abs(x).max() * factor


def printed(x, factor):
    scaled = x * factor
    jax.debug.callback(lambda largest: None, jnp.abs(scaled).max())
    return scaled


def without_a_start(params):
    return jax.tree.reduce(jnp.add, jax.tree.map(lambda v: jnp.sum(v**2), params))


without_a_start.__name__ = "squared_norm"


WRONG = {
    "tracing/1": [
        (
            lambda function, calls: len(calls),
            "for five calls with one shape, the number of traces must be 1, got 5",
        ),
        (without_the_star, "unpack it with a star"),
        (counts_every_call, "must be 1, got 5"),
        (jits_for_each_call, "must be 1, got 5"),
        (traces_by_shape, "for one shape and two dtypes, the number of traces must be 2, got 1"),
        (lambda function, calls: "two", "the number of traces must be an integer, got 'two'"),
        (
            distinct_shapes_and_dtypes,
            "for a Python float and then a float32 scalar, the number of traces must be 2, got 1: "
            "JAX traces them separately because the Python float is weakly typed",
        ),
        (traces_of_one_jit, "create a new wrapper each time"),
        (
            size_of_the_cache,
            "an earlier count is still included, because jax.jit keeps the traces of a function "
            "even if you jit it again. Jit a wrapper that you define inside your answer",
        ),
    ],
    "tracing/2": [
        (float_of_max, "raises ConcretizationTypeError"),
        (log_outside, "on the second jitted call, with a factor of 5"),
        (log_outside_and_return, "but your function also changes the global `LOGGED`. Under jit"),
        (log_in_a_default, "but your function also changes the default `log`. Under jit"),
        (largest_input, "a factor may be negative"),
        (printed, "the result must be a pair (scaled, largest)"),
        (lambda x, factor: x * factor, "the result must be a pair (scaled, largest)"),
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
            "the gradient of x² at 0 is 0, not NaN",
        ),
        (lambda params: optax.tree.norm(params) ** 2, "'w': [nan, nan]"),
        (without_a_start, "squared_norm(params={}) raises TypeError"),
        (lambda params: without_a_start({"w": params["w"]}), "must return 14.0, got 5.0"),
    ],
}
RIGHT = [
    ("tracing/1", with_a_list),
    ("tracing/1", size_of_a_new_cache),
    ("tracing/2", log_in_a_local_list),
    ("tracing/2", log_and_print),
    ("tracing/2", lambda x, factor: (x * factor, jnp.linalg.norm(x * factor, jnp.inf))),
    ("tracing/3", lambda params: sum(jnp.sum(v**2) for v in jax.tree.leaves(params))),
    ("tracing/3", lambda params: optax.tree.norm(params, squared=True)),
    ("tracing/2", lambda x, f: [x * f, jnp.max(jnp.abs(x * f))]),
]
