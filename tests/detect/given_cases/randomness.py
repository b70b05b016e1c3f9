"""Labeled cases used to tune key_reuse and const_key."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()

X4 = jnp.arange(4.0)


# ------------------------------------------------------------ key_reuse
K = jax.random.key(0)
RK = jax.random.PRNGKey(0)


def _twice(k):
    return jax.random.normal(k, (3,)) + jax.random.uniform(k, (3,))


# kr_typed
add("key_reuse", True, _twice, K)


def _twice_raw(k):
    return jax.random.normal(k, (3,)) + jax.random.uniform(k, (3,))


# kr_raw
add("key_reuse", True, _twice_raw, RK)


@case("key_reuse", True)
def kr_made_inside_raw():
    k = jax.random.PRNGKey(42)
    return jax.random.normal(k) * jax.random.normal(k)


@case("key_reuse", True, K)
def kr_parent_after_split(k):
    a, b = jax.random.split(k)
    return jax.random.normal(a) + jax.random.normal(k)


@case("key_reuse", True, RK)
def kr_parent_after_split_raw(k):
    ks = jax.random.split(k, 2)
    return jax.random.normal(ks[0]) + jax.random.normal(k)


@case("key_reuse", True, K)
def kr_scan_closure(k):
    def body(c, _):
        return c + jax.random.normal(k), None

    return lax.scan(body, 0.0, None, length=5)[0]


@case("key_reuse", True, RK)
def kr_scan_closure_raw(k):
    def body(c, _):
        return c + jax.random.normal(k), None

    return lax.scan(body, 0.0, None, length=5)[0]


@case("key_reuse", True, K)
def kr_python_loop(k):
    s = 0.0
    for _ in range(3):
        s = s + jax.random.normal(k)
    return s


@case("key_reuse", True, K)
def kr_same_child_twice(k):
    ks = jax.random.split(k, 3)
    return jax.random.normal(ks[1]) + jax.random.uniform(ks[1])


@case("key_reuse", True, RK)
def kr_same_child_twice_raw(k):
    ks = jax.random.split(k, 3)
    return jax.random.normal(ks[1]) + jax.random.uniform(ks[1])


@case("key_reuse", True, K)
def kr_inside_jit(k):
    @jax.jit
    def drop(k, x):
        return x * jax.random.bernoulli(k, 0.5, x.shape)

    x = jnp.ones(8)
    return drop(k, x) + drop(k, x)


@case("key_reuse", True, K)
def kr_carry_not_updated(k):
    def body(carry, _):
        k, s = carry
        return (k, s + jax.random.normal(k)), None  # forgot to split

    return lax.scan(body, (k, 0.0), None, length=4)[0][1]


@case("key_reuse", True, RK)
def kr_carry_not_updated_raw(k):
    def body(carry, _):
        k, s = carry
        return (k, s + jax.random.normal(k)), None

    return lax.scan(body, (k, 0.0), None, length=4)[0][1]


@case("key_reuse", True, K, jnp.ones((4, 3)))
def kr_vmap_shared(k, xs):
    return jax.vmap(lambda x: x + jax.random.normal(k, (3,)))(xs)  # same noise per row


@case("key_reuse", True, K)
def kr_fold_in_same_data(k):
    a = jax.random.fold_in(k, 7)
    b = jax.random.fold_in(k, 7)
    return jax.random.normal(a) + jax.random.normal(b)


@case("key_reuse", False, K)
def kr_split_ok(k):
    a, b = jax.random.split(k)
    return jax.random.normal(a) + jax.random.uniform(b)


@case("key_reuse", False, RK)
def kr_split_raw_ok(k):
    a, b = jax.random.split(k)
    return jax.random.normal(a) + jax.random.uniform(b)


@case("key_reuse", False, K)
def kr_fold_in_ok(k):
    return jax.random.normal(jax.random.fold_in(k, 1)) + jax.random.normal(jax.random.fold_in(k, 2))


@case("key_reuse", False, K)
def kr_scan_split_ok(k):
    def body(k, _):
        k, s = jax.random.split(k)
        return k, jax.random.normal(s)

    return lax.scan(body, k, None, length=5)[1]


@case("key_reuse", False, RK)
def kr_scan_split_raw_ok(k):
    def body(k, _):
        k, s = jax.random.split(k)
        return k, jax.random.normal(s)

    return lax.scan(body, k, None, length=5)[1]


@case("key_reuse", False, K)
def kr_vmap_keys_ok(k):
    return jax.vmap(lambda kk: jax.random.normal(kk, (2,)))(jax.random.split(k, 4))


@case("key_reuse", False, K)
def kr_cond_branches_ok(k):
    return lax.cond(True, lambda k: jax.random.normal(k), lambda k: jax.random.uniform(k), k)


@case("key_reuse", False, K)
def kr_index_split_ok(k):
    ks = jax.random.split(k, 3)
    return sum(jax.random.normal(ks[i]) for i in range(3))


@case("key_reuse", False, RK)
def kr_index_split_raw_ok(k):
    ks = jax.random.split(k, 3)
    return sum(jax.random.normal(ks[i]) for i in range(3))


@case("key_reuse", False, K)
def kr_scan_fold_in_ok(k):
    def body(c, i):
        return c + jax.random.normal(jax.random.fold_in(k, i)), None

    return lax.scan(body, 0.0, jnp.arange(5))[0]


# ------------------------------------------------------------ const_key
_frozen = jax.random.key(3)


@case("const_key", True, X4)
def ck_literal_seed(x):
    return x * jax.random.bernoulli(jax.random.key(0), 0.5, x.shape)


@case("const_key", True, X4)
def ck_closed_over(x):
    return x + jax.random.normal(_frozen, x.shape)


@case("const_key", True, X4)
def ck_literal_seed_raw(x):
    return x + jax.random.normal(jax.random.PRNGKey(1), x.shape)


@case("const_key", True, jnp.ones((3, 4)))
def ck_vmap_literal(xs):
    return jax.vmap(lambda x: x + jax.random.normal(jax.random.key(0), x.shape))(xs)


@case("const_key", False, X4, K)
def ck_passed_ok(x, k):
    return x + jax.random.normal(k, x.shape)


@case("const_key", False, X4, jnp.int32(3))
def ck_seed_arg_ok(x, seed):
    return x + jax.random.normal(jax.random.key(seed), x.shape)


@case("const_key", False, X4)
def ck_no_random_ok(x):
    return jnp.sin(x)


@case("const_key", False, X4, K, jnp.int32(0))
def ck_fold_step_ok(x, k, step):
    return x + jax.random.normal(jax.random.fold_in(k, step), x.shape)
