"""Labeled cases used to tune inplace."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from labelled_cases import registry

CASES, case, add = registry()

X4 = jnp.arange(4.0)


# ------------------------------------------------------------ inplace
@case("inplace", True, np.arange(4.0, dtype=np.float32))
def ip_setitem(x):
    x[0] = 99.0
    return jnp.sum(jnp.asarray(x))


@case("inplace", True, np.arange(4.0, dtype=np.float32))
def ip_augassign(x):
    x += 1
    return jnp.asarray(x) * 2


@case("inplace", True, X4)
def ip_jax_setitem(x):
    x[0] = 1.0
    return x


@case("inplace", True, {"w": np.ones(3, np.float32)})
def ip_nested_sort(p):
    p["w"].sort()
    p["w"][:] = p["w"] * 3
    return jnp.asarray(p["w"]).sum()


@case("inplace", True, X4, np.zeros(4, np.float32))
def ip_out_kw(x, buf):
    np.multiply(np.asarray(x), 2, out=buf)
    return jnp.asarray(buf)


@case("inplace", True, {"a": 1.0})
def ip_dict_arg_mutated(d):
    d["a"] = d["a"] + 1
    return jnp.asarray(d["a"])


@case("inplace", True, np.arange(4.0, dtype=np.float32))
def ip_alias_then_mutate(x):
    buf = np.array(x)
    y = jnp.asarray(buf)  # may alias on CPU
    buf[0] = -1.0
    return y


@case("inplace", False, X4)
def ip_at_set_ok(x):
    return x.at[0].set(1.0)


@case("inplace", False, np.arange(4.0, dtype=np.float32))
def ip_copy_first_ok(x):
    y = jnp.array(x)
    return y.at[0].set(5.0)


@case("inplace", False, X4)
def ip_python_list_ok(x):
    acc = [0] * 4
    acc[2] = 1
    return x * jnp.asarray(acc)


@case("inplace", False, X4)
def ip_aug_on_local_ok(x):
    x += 1  # rebinds the name: fine on jax arrays
    x *= 2
    return x


@case("inplace", False, {"a": X4})
def ip_new_dict_ok(d):
    d = dict(d)
    d["a"] = d["a"] + 1
    return d
