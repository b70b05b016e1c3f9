"""Labeled cases for inplace, written before the detector ran on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()


X = jnp.arange(10.0)


# ------------------------------------------------------------ inplace
def _np(n=4):
    return np.arange(float(n), dtype=np.float32)


@case("inplace", True, _np())
def own_ip_slice(x):
    x[1:3] = 0
    return jnp.asarray(x)


@case("inplace", True, [1.0, 2.0])
def own_ip_append(xs):
    xs.append(3.0)
    return jnp.array(xs)


@case("inplace", True, {"a": 1.0})
def own_ip_pop(d):
    return jnp.float32(d.pop("a"))


@case("inplace", True, X)
def own_ip_jax_slice(x):
    x[2:4] = 0.0
    return x


@case("inplace", True, X, 2)
def own_ip_jax_augmented(x, i):
    x[i] += 1.0
    return x


@case("inplace", True, -_np())
def own_ip_sort(x):
    x.sort()
    return jnp.asarray(x)


@case("inplace", True, _np())
def own_ip_helper(x):
    def clear(a):
        a.fill(0)

    clear(x)
    return jnp.sum(x)


@case("inplace", True, {"p": {"w": _np()}})
def own_ip_nested(tree):
    tree["p"]["w"] *= 0.9
    return jnp.asarray(tree["p"]["w"])


@case("inplace", True, X)
def own_ip_delete(x):
    del x[0]
    return x


@case("inplace", True, _np())
def own_ip_shuffle(x):
    np.random.default_rng(0).shuffle(x)
    return jnp.asarray(x)


@case("inplace", True, [_np(), _np()])
def own_ip_swap(pair):
    pair[0], pair[1] = pair[1], pair[0]
    return jnp.asarray(pair[0])


@case("inplace", False, X)
def own_nip_at(x):
    return x.at[1:3].add(1.0)


@case("inplace", False, _np())
def own_nip_copy(x):
    y = x.copy()
    y[0] = 1
    return jnp.asarray(y)


@case("inplace", False, {"a": X})
def own_nip_merge(d):
    return {**d, "b": d["a"] * 2}


@case("inplace", False, [1.0, 2.0])
def own_nip_new_list(xs):
    ys = [*xs, 3.0]
    ys[0] = 0.0
    return jnp.array(ys)


@case("inplace", False, X)
def own_nip_rebind(x):
    x *= 2
    x = x - 1
    return x  # noqa: RET504


@case("inplace", False, {"a": X, "b": X})
def own_nip_tree(d):
    return jax.tree.map(lambda v: v + 1, d)


@case("inplace", False, _np())
def own_nip_sorted(x):
    return jnp.asarray(np.sort(x))


@case("inplace", False, X)
def own_nip_buffer(x):
    buffer = np.zeros(3)
    buffer[1] = 2.0
    return x[:3] * buffer


add("inplace", False, jax.jit(lambda d: {"a": d["a"] + 1}), {"a": X})
add("inplace", False, lambda x: lax.dynamic_update_slice(x, jnp.zeros(2), (1,)), X)


# ------------------------------------------------------------ updates in helpers
def _drop_worst(scores):
    scores.at[jnp.argmin(scores)].set(0.0)
    return scores.mean()


def _without_worst(scores):
    scores = scores.at[jnp.argmin(scores)].set(0.0)
    return scores.mean()


class Ranking:
    def __init__(self, size):
        self.size = size

    def shift(self, scores, index):
        if index >= 0:
            scores.at[index : index + self.size].add(
                1.0,
            )
        return scores


@case("inplace", True, X)
def helper_discards_an_update(scores):
    return _drop_worst(scores) / 2


@case("inplace", True, X)
@jax.jit
def method_called_in_a_loop_discards_an_update(scores):
    ranking = Ranking(2)
    return lax.fori_loop(0, 3, lambda i, scores: ranking.shift(scores, 1), scores)


add("inplace", True, jax.jit(lambda scores: jax.vmap(_drop_worst)(scores)), X.reshape(2, -1))
add("inplace", False, jax.jit(lambda scores: jax.vmap(_without_worst)(scores)), X.reshape(2, -1))


@case("inplace", False, X)
def helper_returns_its_update(scores):
    return _without_worst(scores) / 2


@case("inplace", False, X)
def branch_of_a_helper_that_does_not_run(scores):
    return Ranking(2).shift(scores, -1)
