"""Labeled cases used to tune control_flow and dynamic_shape."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()

X4 = jnp.arange(4.0)
X10 = jnp.arange(10.0)


# ------------------------------------------------------------ control_flow
@case("control_flow", True, jnp.float32(2.0))
def cf_if(x):
    if x > 0:
        return x
    return -x


@case("control_flow", True, jnp.float32(5.0))
def cf_while(x):
    while x > 1:
        x = x / 2
    return x


@case("control_flow", True, X4)
def cf_assert(x):
    assert jnp.all(x >= 0)
    return jnp.sqrt(x)


@case("control_flow", True, X4)
def cf_and(x):
    return jnp.where(x.sum() > 0 and x.max() < 10, x, 0.0)


@case("control_flow", True, X4, 3)
def cf_range_n(x, n):
    for _ in range(n):
        x = x * 2
    return x


@case("control_flow", True, X4)
def cf_in_scan(x):
    def body(c, v):
        if v > 1:
            c = c + v
        return c, None

    return lax.scan(body, 0.0, x)[0]


@case("control_flow", True, X4, "relu")
def cf_str_arg(x, kind):
    return jax.nn.relu(x) if kind == "relu" else jnp.tanh(x)


@case("control_flow", True, X4, True)
def cf_bool_arg(x, train):
    if train:
        return x * 2
    return x


@case("control_flow", True, X4)
def cf_float_conv(x):
    return x * float(x[0])


@case("control_flow", False, X4)
def cf_shape_if_ok(x):
    if x.shape[0] > 2:
        return x[:2]
    return x


@case("control_flow", False, X4)
def cf_none_default_ok(x, y=None):
    return x if y is None else x + y


@case("control_flow", False, X4)
def cf_where_ok(x):
    return jnp.where(x > 1, x, 0)


@case("control_flow", False, X4)
def cf_cond_ok(x):
    return lax.cond(x.sum() > 0, lambda v: v, lambda v: -v, x)


# cf_static_ok
add("control_flow", False, jax.jit(lambda x, n: x * n if n > 2 else x, static_argnums=1), X4, 3)


@case("control_flow", False, X4)
def cf_dtype_if_ok(x):
    if jnp.issubdtype(x.dtype, jnp.floating):
        return x
    return x.astype(jnp.float32)


# ------------------------------------------------------------ dynamic_shape
@case("dynamic_shape", True, X4)
def ds_bool_mask(x):
    return x[x > 1]


@case("dynamic_shape", True, X4)
def ds_nonzero(x):
    return jnp.nonzero(x)[0]


@case("dynamic_shape", True, X4, jnp.int32(3))
def ds_arange(x, n):
    return x.sum() * jnp.arange(n)


@case("dynamic_shape", True, X10, jnp.int32(2))
def ds_slice(x, n):
    return x[:n]


@case("dynamic_shape", True, X4)
def ds_unique(x):
    return jnp.unique(x)


@case("dynamic_shape", True, X4, 2)
def ds_reshape(x, n):
    return x.reshape(n, -1)


@case("dynamic_shape", True, X4)
def ds_where_one_arg(x):
    return x[jnp.where(x > 1)]


@case("dynamic_shape", True, X4, jnp.array([1, 2, 0, 1]))
def ds_repeat(x, r):
    return jnp.repeat(x, r)


@case("dynamic_shape", False, X4)
def ds_where3_ok(x):
    return jnp.where(x > 1, x, 0.0).sum()


@case("dynamic_shape", False, X4)
def ds_size_ok(x):
    return jnp.unique(x, size=4, fill_value=0)


@case("dynamic_shape", False, X10, jnp.int32(2))
def ds_dyn_slice_ok(x, i):
    return lax.dynamic_slice(x, (i,), (3,))


@case("dynamic_shape", False, X4)
def ds_arange_static_ok(x):
    return x * jnp.arange(x.shape[0])


@case("dynamic_shape", True, X4)
def ds_mask_set(x):
    return x.at[x > 1].set(0.0)  # NonConcreteBooleanIndexError, even with a scalar value


@case("dynamic_shape", False, X4)
def ds_static_set_ok(x):
    return x.at[:2].set(0.0)


@case("dynamic_shape", False, X10)
def ds_reshape_ok(x):
    return x.reshape(5, -1)
