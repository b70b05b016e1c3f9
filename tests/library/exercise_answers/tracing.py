"""Right and wrong answers to the exercises on tracing."""

import jax
import jax.numpy as jnp
import optax

LOGGED: list = []


def convert_max_to_float(x, factor):
    scaled = x * factor
    return scaled, float(jnp.abs(scaled).max())


def log_to_global(x, factor):
    scaled = x * factor
    LOGGED.append(jnp.abs(scaled).max())
    return scaled, LOGGED[0]


def log_to_global_and_return(x, factor):
    scaled = x * factor
    largest = jnp.abs(scaled).max()
    LOGGED.append(largest)
    return scaled, largest


def log_to_default_argument(x, factor, log=[]):  # noqa: B006
    scaled = x * factor
    log.append(jnp.abs(scaled).max())
    return scaled, log[-1]


def log_to_local_list(x, factor):
    scaled, log = x * factor, []
    log.append(jnp.abs(scaled).max())
    return scaled, log[-1]


def log_and_print(x, factor):
    scaled = x * factor
    print("scaled is", scaled)
    return scaled, jnp.abs(scaled).max()


def count_shapes(function, calls):
    return len({args[0].shape for args in calls if hasattr(args[0], "shape")})


def count_shapes_and_dtypes(function, calls):
    kinds = [[(jnp.shape(x), jnp.result_type(x)) for x in args] for args in calls]
    return len({tuple((shape, str(dtype)) for shape, dtype in kind) for kind in kinds})


def cache_size(function, calls):
    jitted = jax.jit(function)
    for args in calls:
        jitted(*args)
    return jitted._cache_size()


def cache_size_of_wrapper(function, calls):
    return cache_size(lambda *args: function(*args), calls)


def reuse_jitted_wrapper(function, calls, seen=None, kept=[]):  # noqa: B006
    def counted(*args):
        kept.append(1)
        return function(*args)

    before = len(kept)
    for args in calls:
        CACHE.setdefault(id(function), jax.jit(counted))(*args)
    return len(kept) - before


CACHE: dict = {}


def call_without_star(function, calls):
    traces = 0

    def counted(*args):
        nonlocal traces
        traces += 1
        return function(*args)

    jitted = jax.jit(counted)
    for args in calls:
        jitted(args)
    return traces


def count_calls(function, calls):
    count, jitted = 0, jax.jit(function)
    for args in calls:
        jitted(*args)
        count += 1
    return count


def jit_each_call(function, calls):
    traces = []

    def counted(*args):
        traces.append(1)
        return function(*args)

    for args in calls:
        jax.jit(lambda *args: counted(*args))(*args)
    return len(traces)


def append_in_wrapper(function, calls):
    seen = []

    def noted(*args):
        seen.append(args)
        return function(*args)

    jitted = jax.jit(noted)
    jax.tree.map(lambda args: jitted(*args), calls, is_leaf=lambda x: isinstance(x, tuple))
    return jnp.int32(len(seen))


def take_maximum_of_input(x, factor):
    return x * factor, jnp.abs(x).max() * factor


def return_scaled_only(x, factor):
    scaled = x * factor
    jax.debug.callback(lambda largest: None, jnp.abs(scaled).max())
    return scaled


def reduce_without_initial_value(params):
    return jax.tree.reduce(jnp.add, jax.tree.map(lambda v: jnp.sum(v**2), params))


reduce_without_initial_value.__name__ = "squared_norm"


WRONG = {
    "tracing/1": [
        (
            lambda function, calls: len(calls),
            "for five calls with one shape, the number of traces must be 1, got 5",
        ),
        (call_without_star, "unpack it with a star"),
        (count_calls, "must be 1, got 5"),
        (jit_each_call, "must be 1, got 5"),
        (count_shapes, "for one shape and two dtypes, the number of traces must be 2, got 1"),
        (lambda function, calls: "two", "the number of traces must be an integer, got 'two'"),
        (
            count_shapes_and_dtypes,
            "for a Python float and then a float32 scalar, the number of traces must be 2, got 1: "
            "JAX traces them separately because the Python float is weakly typed",
        ),
        (reuse_jitted_wrapper, "create a new wrapper each time"),
        (
            cache_size,
            "an earlier count is still included, because jax.jit keeps the traces of a function "
            "even if you jit it again. Jit a wrapper that you define inside your answer",
        ),
    ],
    "tracing/2": [
        (convert_max_to_float, "raises ConcretizationTypeError"),
        (log_to_global, "on the second jitted call, with a factor of 5"),
        (log_to_global_and_return, "but your function also changes the global `LOGGED`. Under jit"),
        (log_to_default_argument, "but your function also changes the default `log`. Under jit"),
        (take_maximum_of_input, "a factor may be negative"),
        (return_scaled_only, "the result must be a pair (scaled, largest)"),
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
        (reduce_without_initial_value, "squared_norm(params={}) raises TypeError"),
        (
            lambda params: reduce_without_initial_value({"w": params["w"]}),
            "must return 14.0, got 5.0",
        ),
    ],
}
RIGHT = [
    ("tracing/1", append_in_wrapper),
    ("tracing/1", cache_size_of_wrapper),
    ("tracing/2", log_to_local_list),
    ("tracing/2", log_and_print),
    ("tracing/2", lambda x, factor: (x * factor, jnp.linalg.norm(x * factor, jnp.inf))),
    ("tracing/3", lambda params: sum(jnp.sum(v**2) for v in jax.tree.leaves(params))),
    ("tracing/3", lambda params: optax.tree.norm(params, squared=True)),
    ("tracing/2", lambda x, f: [x * f, jnp.max(jnp.abs(x * f))]),
]
