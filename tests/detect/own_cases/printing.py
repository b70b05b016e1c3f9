"""Labeled cases for side_effect with functions that print or log shapes, values, and messages."""

from __future__ import annotations

import logging

import jax
import jax.numpy as jnp
from absl import logging as absl_logging
from labelled_cases import registry

CASES, case, add = registry()

X = jnp.ones((2, 3))


@case("side_effect", False, X)
@jax.jit
def prints_shape_and_dtype(x):
    print("Input of shape", x.shape, "dtype", x.dtype)
    return x + 1


@case("side_effect", False, X)
@jax.jit
def prints_shapes_of_layers(x):
    for depth in range(2):
        x = x @ jnp.ones((x.shape[1], 4))
        print(
            f"layer {depth}:",
            f"{x.shape}",
        )
    return x


@case("side_effect", False, X)
@jax.jit
def prints_type_in_vmap(x):
    def row(v):
        print(jax.typeof(v))
        return v.sum()

    return jax.vmap(row)(x)


@case("side_effect", True, X)
@jax.jit
def prints_value(x):
    print("Input", x)
    return x + 1


@case("side_effect", True, X)
@jax.jit
def prints_shape_and_value(x):
    print(f"{x.shape}: {x.sum()}")
    return x + 1


@case("side_effect", True, X)
@jax.jit
def prints_value_in_one_iteration(x):
    for depth in range(3):
        print(x.shape if depth else x)
    return x + 1


@case("side_effect", True, X)
@jax.jit
def prints_batched_value(x):
    def row(v):
        print(v.ndim, v)
        return v.sum()

    return jax.vmap(row)(x)


@case("side_effect", True, X)
@jax.jit
def prints_text(x):
    print("one more step")
    return x + 1


@case("side_effect", True, X)
@jax.jit
def prints_shape_and_value_on_two_lines(x):
    print(x.shape)
    print(x)
    return x + 1


# ------------------------------------------------------------ messages about traces, and logging
quiet, loud = logging.getLogger("own.quiet"), logging.getLogger("own.loud")
quiet.setLevel(logging.ERROR)
loud.setLevel(logging.DEBUG)
loud.addHandler(logging.NullHandler())
loud.propagate = False


@case("side_effect", False, X)
@jax.jit
def announces_compilation(x):
    print("Compiling the step for", len(X), "rows")
    return x + 1


@case("side_effect", False, X)
@jax.jit
def logs_that_it_is_traced(x):
    loud.info("the step is traced for %d rows", x.shape[0])
    return x + 1


@case("side_effect", True, X)
@jax.jit
def announces_compilation_and_value(x):
    print("Compiling the step for", x)
    return x + 1


@case("side_effect", True, X)
@jax.jit
def logs_value_when_traced(x):
    loud.info("the step is traced for %s", x)
    return x + 1


@case("side_effect", True, X)
@jax.jit
def prints_trace_of_matrix(x):
    print("the trace of the matrix was computed")
    return x + 1


@case("side_effect", False, X)
@jax.jit
def logs_to_silent_logger(x):
    quiet.debug("x")
    quiet.getChild("inner").info("%s %s", x.shape, x)
    return x + 1


@case("side_effect", True, X)
@jax.jit
def logs_to_loud_logger(x):
    loud.debug("one more step")
    return x + 1


@case("side_effect", True, X)
@jax.jit
def logs_below_default_level(x):
    logging.getLogger("own.default").info("one more step")
    return x + 1


# ------------------------------------------------------------ the logging functions of absl
@case("side_effect", True, X)
@jax.jit
def logs_value_by_absl(x):
    absl_logging.info("loss %s", x.sum())
    return x + 1


@case("side_effect", True, X)
@jax.jit
def logs_first_steps_by_absl(x):
    absl_logging.log_first_n(absl_logging.INFO, "one more step", 3)
    return x + 1


@case("side_effect", True, X)
@jax.jit
def warns_by_absl_logger(x):
    absl_logging.get_absl_logger().warning("one more step")
    return x + 1


@case("side_effect", False, X)
@jax.jit
def logs_by_absl_that_it_is_traced(x):
    absl_logging.info("compiling the step for %d rows", x.shape[0])
    return x + 1


@jax.jit
def doubled(x):
    return 2 * x


@case("side_effect", False, X)
def logs_by_absl_in_every_call(x):
    x = doubled(x)
    absl_logging.info("loss %s", x.sum())
    return x
