"""Labeled cases used to tune list_args and recompile."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import Sweep, registry

CASES, case, add = registry()

X4 = jnp.arange(4.0)
X10 = jnp.arange(10.0)


# ------------------------------------------------------------ list_args
@case("list_args", True, [float(i) for i in range(1000)])
def la_long_list(x):
    return jnp.sum(jnp.array(x))


@case("list_args", True, tuple(range(200)))
def la_long_tuple(x):
    return sum(x)


@case("list_args", True, [[float(i * j) for i in range(20)] for j in range(20)])
def la_nested(x):
    return jnp.asarray(x).mean()


@case("list_args", True, {"data": [float(i) for i in range(500)]})
def la_dict_list(d):
    return jnp.stack(d["data"]).sum()


@case("list_args", True, X10)
def la_built_inside(x):
    return jnp.array([x[i % 10] * i for i in range(300)])


@case("list_args", True, jnp.arange(500.0))
def la_list_of_array(x):
    return jnp.stack(list(x)).sum()


@case("list_args", False, [X4, X4])
def la_two_arrays_ok(xs):
    return xs[0] + xs[1]


@case("list_args", False, [(jnp.ones((3, 3)), jnp.ones(3)) for _ in range(12)])
def la_mlp_params_ok(params):
    x = jnp.ones(3)
    for w, b in params:
        x = jnp.tanh(w @ x + b)
    return x


@case("list_args", False, jnp.arange(1000.0))
def la_array_ok(x):
    return x.sum()


@case("list_args", False, (2, 3))
def la_small_tuple_ok(t):
    return t[0] * t[1]


@case("list_args", False, X4)
def la_literal_ok(x):
    return x * jnp.array([1.0, 2.0, 3.0, 4.0])


# ------------------------------------------------------------ recompile
@case("recompile", True, Sweep([(jnp.ones(n),) for n in range(3, 11)]))
def rc_ragged_shapes(x):
    return x.sum()


@case("recompile", True, Sweep([(X4, 1.0), (X4, jnp.float32(2.0)), (X4, 3), (X4, np.float32(4))]))
def rc_weak_types(x, s):
    return x * s


# rc_static_float
add(
    "recompile",
    True,
    jax.jit(lambda x, lr: x * lr, static_argnums=1),
    Sweep([(X4, 0.1 * i) for i in range(6)]),
)


class _Cfg:  # default hash: identity
    def __init__(self, n):
        self.n = n


# rc_static_identity_hash
add(
    "recompile",
    True,
    jax.jit(lambda x, c: x * c.n, static_argnums=1),
    Sweep([(X4, _Cfg(2)) for _ in range(4)]),
)


@case("recompile", True, Sweep([(X4,)] * 4))
def rc_jit_lambda_inside(x):
    return jax.jit(lambda v: jnp.sin(v) * 2)(x)  # a new function object on each call


@case("recompile", True, Sweep([(X4,)] * 4))
def rc_scan_fresh_lambda_eager(x):
    # eager scan keys its cache on the body's identity
    return lax.scan(lambda c, v: (c + v, None), 0.0, x)[0]


@case("recompile", True, Sweep([({"a": X4, "b": X4},), ({"b": X4},), ({"a": X4},), ({"c": X4},)]))
def rc_pytree_structure(d):
    return sum(jnp.sum(v) for v in d.values())


@case(
    "recompile",
    True,
    Sweep(
        [
            (jnp.ones(4, jnp.float32),),
            (jnp.ones(4, jnp.int32),),
            (jnp.ones(4, jnp.bfloat16),),
            (jnp.ones(4, bool),),
        ]
    ),
)
def rc_dtypes(x):
    return x.sum()


# rc_partial_fresh
add("recompile", True, lambda x: jax.jit(partial(jnp.multiply, 2.0))(x), Sweep([(X4,)] * 4))


@case("recompile", False, Sweep([(X4 * i,) for i in range(6)]))
def rc_values_ok(x):
    return x.sum()


@case("recompile", False, Sweep([(X4, 0.1 * i) for i in range(6)]))
def rc_python_scalars_ok(x, lr):
    return x * lr


# rc_static_int_ok
add("recompile", False, jax.jit(lambda x, n: x * n, static_argnums=1), Sweep([(X4, 3)] * 5))

_jitted_once = jax.jit(lambda v: jnp.sin(v) * 2)


@case("recompile", False, Sweep([(X4,)] * 4))
def rc_module_level_jit_ok(x):
    return _jitted_once(x)


class _FrozenCfg(NamedTuple):
    n: int


# rc_static_namedtuple_ok
add(
    "recompile",
    False,
    jax.jit(lambda x, c: x * c.n, static_argnums=1),
    Sweep([(X4, _FrozenCfg(2)) for _ in range(4)]),
)


@case("recompile", False, Sweep([({"a": X4, "b": X4},), ({"b": X4, "a": X4},)] * 2))
def rc_dict_order_ok(d):
    return d["a"] - d["b"]
