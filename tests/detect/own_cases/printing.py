"""Labeled cases for side_effect with functions that print shapes, dtypes, and traced values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
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
