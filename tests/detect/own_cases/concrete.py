"""Labeled cases for control_flow and dynamic_shape, written before the detectors ran on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()


X = jnp.arange(10.0)


# ------------------------------------------------------------ control_flow
@case("control_flow", True, X)
def own_cf_if(x):
    if jnp.sum(x) > 3:
        return x
    return -x


add("control_flow", True, lambda x: x if x.any() else -x, X)
add("control_flow", True, lambda x: max(x[0], x[1]), X)
add("control_flow", True, jax.jit(lambda x: x * 2 if x > 1 else x), 3.0)
add("control_flow", True, lambda x: x and 1.0, jnp.float32(1))
add("control_flow", True, lambda x: 1.0 if not x else -x, jnp.float32(1))


@case("control_flow", True, X)
def own_cf_while(x):
    while x.sum() > 1:
        x = x / 2
    return x


@case("control_flow", True, X)
def own_cf_assert(x):
    assert (x >= 0).all()
    return x


@case("control_flow", True, jnp.int32(3), X)
def own_cf_range(n, x):
    for _ in range(n):
        x = x * 2
    return x


@case("control_flow", True, X)
def own_cf_scan_body(x):
    def body(c, v):
        if v > c:
            c = v
        return c, None

    return lax.scan(body, 0.0, x)[0]


@case("control_flow", True, jnp.int32(1), X)
def own_cf_list(i, x):
    return x * [1.0, 2.0, 3.0][i]


add("control_flow", True, lambda x: 0 < x < 3, jnp.float32(1))
add("control_flow", False, lambda x: jnp.where(x > 3, x, -x), X)
add("control_flow", False, lambda x: x if x.ndim == 1 else x.ravel(), X)
add("control_flow", False, lambda x, y: x if y is None else x + y, X, None)
add("control_flow", False, lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), 1.0)
add("control_flow", False, jax.jit(lambda x, n: [x] * n, static_argnums=1), X, 3)
add("control_flow", False, lambda x: jnp.maximum(x[0], x[1]), X)
add("control_flow", False, lambda x: x * 2 if len(x) > 3 else x, X)
add("control_flow", False, lambda d: d["a"] if "b" not in d else d["b"], {"a": X})
add("control_flow", False, lambda x: lax.while_loop(lambda v: v < 9, lambda v: v * 2, x), 1.0)
add("control_flow", False, lambda x: sum(x[i] for i in range(x.shape[0])), X)
add("control_flow", False, lambda x: x if jnp.issubdtype(x.dtype, jnp.floating) else x * 1.0, X)


# ------------------------------------------------------------ dynamic_shape
add("dynamic_shape", True, lambda x: x[x > 3], X)
add("dynamic_shape", True, lambda x: jnp.nonzero(x > 3)[0], X)
add("dynamic_shape", True, lambda x: jnp.unique(x), X)
add("dynamic_shape", True, lambda x, n: jnp.zeros(n) + x.sum(), X, jnp.int32(3))
add("dynamic_shape", True, lambda x, n: x[:n], X, jnp.int32(3))
add("dynamic_shape", True, lambda n: jnp.arange(n), jnp.int32(5))
add("dynamic_shape", True, lambda x, n: x.reshape(n, -1), X, jnp.int32(2))
add("dynamic_shape", True, lambda x: jnp.where(x > 3), X)
add("dynamic_shape", True, lambda x, n: jnp.repeat(x, n), X, jnp.arange(10))
add("dynamic_shape", True, jax.jit(lambda x, i: x[i : i + 2]), X, 3)
add("dynamic_shape", True, lambda x, n: jnp.linspace(0, 1, n) * x, 1.0, jnp.int32(4))
add("dynamic_shape", True, lambda x: jnp.argwhere(x), X)
add("dynamic_shape", False, lambda x: jnp.where(x > 3, x, 0), X)
add("dynamic_shape", False, lambda x: jnp.nonzero(x > 3, size=5)[0], X)
add("dynamic_shape", False, lambda x: x[: x.shape[0] // 2], X)
add("dynamic_shape", False, lambda x: x.reshape(2, -1), X)
add("dynamic_shape", False, lambda x, i: lax.dynamic_slice(x, (i,), (2,)), X, 3)
add("dynamic_shape", False, lambda x: jnp.arange(x.size) * x, X)
add("dynamic_shape", False, jax.jit(lambda x, n: x[:n], static_argnums=1), X, 3)
add("dynamic_shape", False, lambda x: jnp.unique(x, size=4), X)
add("dynamic_shape", False, lambda x: x.sum(where=x > 3), X)
add("dynamic_shape", False, lambda x: x if x.sum() > 0 else -x, X)
add("dynamic_shape", False, lambda x: x[np.array([True, False] * 5)], X)


# A traced number where a static one is needed. The library function itself raises the error.
add("dynamic_shape", True, lambda x, n: jnp.tile(x, n), X, jnp.int32(2))
add("dynamic_shape", True, jax.jit(lambda x, n: jnp.tile(x, n) * 2), X, 2)
add("dynamic_shape", True, lambda x, n: jnp.tile(x, (n, 1)), X, jnp.int32(2))
add("dynamic_shape", True, lambda x: jnp.tile(x, (x > 3).sum()), X)
add("dynamic_shape", True, lambda x, n: jnp.eye(n) @ x, X, jnp.int32(10))
add("dynamic_shape", True, lambda x, n: jnp.split(x, n)[0], X, jnp.int32(2))
add("dynamic_shape", True, lambda x, n: jnp.broadcast_to(x, (n, 10)), X, jnp.int32(2))
# Here JAX compares the number with 0 first, and this error does not show the library's frames.
add("control_flow", True, lambda x, n: jax.lax.top_k(x, n)[0], X, jnp.int32(2))
add("dynamic_shape", True, lambda x, n: jax.random.split(jax.random.key(0), n), X, jnp.int32(2))


@case("dynamic_shape", True, X, jnp.int32(2))
def own_ds_tile_in_a_helper(x, n):
    def widen(rows):
        return jnp.tile(rows, (1, n))

    return widen(x[None]).sum()


add("dynamic_shape", False, lambda x: jnp.tile(x, 2), X)
add("dynamic_shape", False, jax.jit(lambda x, n: jnp.tile(x, n), static_argnums=1), X, 2)
add("dynamic_shape", False, lambda x: jnp.tile(x, (x.ndim, 2)), X)
add("dynamic_shape", False, lambda x, n: jnp.tile(x, 2) * n, X, jnp.int32(2))
add("dynamic_shape", False, lambda x, n: jnp.roll(x, n), X, jnp.int32(2))
add("dynamic_shape", False, lambda x, n: jnp.dot(x, jnp.ones(3)) + n, X, jnp.int32(2))
add("dynamic_shape", False, lambda x, n: jnp.concatenate([x, n]), X, jnp.int32(2))
add("dynamic_shape", False, lambda x, n: lax.top_k(x, 3)[0] ** n, X, jnp.int32(2))


@case("dynamic_shape", False, X, jnp.int32(2))
def own_nds_raises_by_itself(x, n):
    raise ValueError(f"{x.shape} is not supported")


@case("dynamic_shape", False, np.arange(10.0), jnp.int32(2))
def own_nds_assigns_an_item(x, n):
    x[n] = 1.0
    return x
