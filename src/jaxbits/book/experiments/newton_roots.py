"""Compute a square root with Newton's method in loops that stop early in different ways."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxbits.book.experiments.control_flow_runs import counted


def step(a: Any, x: Any) -> Any:
    """Return the mean of `x` and `a / x`, which is one iteration of Newton's method."""
    return (x + a / x) / 2


def is_far(a: Any, x: Any) -> jax.Array:
    """Return whether the square of `x` differs from `a` by more than a thousandth of `a`."""
    far: jax.Array = jnp.abs(x * x - a) > 1e-3 * a
    return far


def root_python(a: Any) -> Any:
    """Return the root from a Python loop that stops as soon as the root is accurate."""
    x = a
    while is_far(a, x):
        x = step(a, x)
    return x


def root_where(a: Any, steps: int = 20) -> jax.Array:
    """Return the root from a scan in which `jnp.where` discards the unnecessary steps."""

    def improve(x: Any, _: None) -> tuple[jax.Array, None]:
        return jnp.where(is_far(a, x), step(a, x), x), None

    root: jax.Array = lax.scan(improve, a, length=steps)[0]
    return root


def root_counted(a: Any, steps: int = 20) -> jax.Array:
    """Return the root from a scan in which `lax.cond` skips unnecessary steps, and count steps."""

    def improve(x: Any, _: None) -> tuple[jax.Array, None]:
        counted_step = counted(lambda x: step(a, x))
        return lax.cond(is_far(a, x), counted_step, lambda x: x, x), None

    root: jax.Array = lax.scan(improve, a, length=steps)[0]
    return root


def has_residuals(steps: int = 20) -> bool:
    """Return whether the gradient of `root_where` stores a float for each step."""
    equations = jax.make_jaxpr(jax.grad(root_where))(9.0).eqns
    stored = [variable.aval for equation in equations for variable in equation.outvars]
    return any(value.shape == (steps,) and value.dtype == jnp.float32 for value in stored)
