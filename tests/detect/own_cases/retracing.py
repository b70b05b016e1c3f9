"""Labeled cases for list_args and recompile, written before the detectors ran on them."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import Sweep, registry

CASES, case, add = registry()


X = jnp.arange(10.0)


# ------------------------------------------------------------ list_args
LONG = [float(i) for i in range(100)]
add("list_args", True, lambda xs: jnp.array(xs).sum(), LONG)
add("list_args", True, lambda xs: sum(xs), tuple(range(50)))
add("list_args", True, lambda b: jnp.asarray(b["x"]).mean(), {"x": LONG, "y": 1.0})
add("list_args", True, jax.jit(lambda a, xs: a * jnp.array(xs)), 2.0, LONG)
add("list_args", True, lambda xs: jnp.array(xs), [[1.0, 2.0, 3.0]] * 40)
add("list_args", True, lambda xs: jnp.stack(xs), [np.float32(i) for i in range(64)])
add("list_args", True, lambda xs: jnp.stack(xs).sum(0), [jnp.float32(i) for i in range(64)])
add("list_args", True, lambda d: sum(d.values()), {f"k{i}": float(i) for i in range(100)})
add("list_args", True, lambda x: jnp.stack([x[i] ** 2 for i in range(128)]), jnp.arange(128.0))
add("list_args", True, functools.partial(lambda s, xs: s * jnp.array(xs), 2.0), LONG)
add("list_args", False, lambda xs: jnp.array(xs).sum(), np.array(LONG))
add("list_args", False, lambda xs: xs[0] + xs[1], [1.0, 2.0])
add("list_args", False, lambda p: p[0][0] @ p[1][0], [(jnp.ones((3, 3)), jnp.ones(3))] * 2)
add("list_args", False, lambda p, x: sum(jnp.sum(w) for w in p) * x, [jnp.ones((4, 4))] * 30, 1.0)
add(
    "list_args",
    False,
    lambda d: d["lr"] * d["x"],
    {"lr": 0.1, "x": X, "b1": 0.9, "b2": 0.99, "eps": 1e-8},
)
add("list_args", False, lambda x: jnp.stack([x, x + 1, x + 2]), X)
add("list_args", False, lambda x, shape: x + sum(shape), X, (3, 4, 5))
add("list_args", False, lambda x: jnp.concatenate([x[:3], x[5:]]), X)
add("list_args", False, lambda x: jnp.array([[1.0, 0.0], [0.0, 1.0]]) * x, 2.0)
add("list_args", False, jax.jit(lambda x: x.at[jnp.arange(3)].set(0)), X)


# ------------------------------------------------------------ recompile
add("recompile", True, lambda x: x.sum(), Sweep([(jnp.ones(n),) for n in (3, 4, 5)]))
add("recompile", True, jax.jit(lambda x: x * 2), Sweep([(jnp.ones(3),), (jnp.ones(3, jnp.int32),)]))
add(
    "recompile",
    True,
    jax.jit(lambda x, n: x * n, static_argnums=1),
    Sweep([(X, i) for i in range(4)]),
)
add("recompile", True, jax.jit(lambda d: d["a"]), Sweep([({"a": X},), ({"a": X, "b": 1.0},)]))
add(
    "recompile", True, jax.jit(lambda x, s: x * s), Sweep([(X, 1.0), (X, jnp.float32(1.0)), (X, 2)])
)
add("recompile", True, lambda x: jax.jit(lambda v: jnp.sin(v) * 2)(x), X)
add("recompile", True, lambda xs: xs[0], Sweep([([X],), ((X,),)]))
add(
    "recompile",
    True,
    jax.jit(lambda x: x + 1),
    Sweep([(jnp.ones((32, 2)),), (jnp.ones((32, 2)),), (jnp.ones((7, 2)),)]),
)
add(
    "recompile",
    True,
    jax.jit(lambda x, f: f(x), static_argnums=1),
    Sweep([(X, lambda v: v + 1), (X, lambda v: v + 1)]),
)


@case("recompile", True, X)
def own_rc_inner(x):
    @jax.jit
    def inner(v):
        return jnp.cos(v) + x.shape[0]

    return inner(x)


@case("recompile", True, X)
def own_rc_partial(x):
    return jax.jit(functools.partial(jnp.multiply, 2.0))(x)


add("recompile", False, jax.jit(lambda x: x * 2), Sweep([(jnp.ones(3),), (jnp.zeros(3),)]))
add("recompile", False, jax.jit(lambda x, n: x * n, static_argnums=1), Sweep([(X, 3), (X, 3)]))
add("recompile", False, jax.jit(lambda x, s: x * s), Sweep([(X, 1.0), (X, 2.0)]))
add("recompile", False, lambda x: jnp.sin(x).sum(), X)
add(
    "recompile",
    False,
    jax.jit(lambda d: d["a"] + d["b"]),
    Sweep([({"a": X, "b": X},), ({"b": X, "a": X},)]),
)
add("recompile", False, lambda x: _jitted(x) + 1, X)
add("recompile", False, jax.jit(jax.grad(lambda x: (x**2).sum())), X)
add("recompile", False, lambda x, k: jax.random.normal(k, (3,)) + x[:3], X, jax.random.key(0))
add(
    "recompile",
    False,
    jax.jit(lambda x, mode: x, static_argnames="mode"),
    Sweep([(X, "a"), (X, "a")]),
)
add("recompile", False, jax.jit(lambda x: lax.scan(lambda c, v: (c + v, v), 0.0, x)), X)


@jax.jit
def _jitted(x):
    return jnp.sin(x) * 2


# Many small joins on one line are many equations, but not one array of many pieces.
@case("list_args", False, jnp.ones((40, 3)), jnp.float32(2))
def own_nla_joins_of_three(xs, w):
    h = jnp.ones(3)
    for x in xs:
        h = jnp.tanh(jnp.concatenate([h[:1], x[1:2] * w, h[2:]]))
    return h


@case("list_args", False, jnp.ones((40, 3)))
def own_nla_stack_per_row(xs):
    return sum(jnp.stack([x[0], x[2]]) for x in xs)


@case("list_args", True, jnp.ones(70))
def own_la_array_grows(xs):
    h = jnp.zeros(0)
    for x in xs:
        h = jnp.concatenate([h, x[None]])
    return h


@case("list_args", True, jnp.ones(70))
def own_la_rows_of_rows(xs):
    rows = [jnp.stack([x, -x]) for x in xs]
    return jnp.stack(rows)


# ------------------------------------------------------------ arrays in static fields
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Lens:
    radius: jax.Array
    depths: Any = dataclasses.field(default=(), metadata={"static": True})
    options: Any = dataclasses.field(default=(), metadata={"static": True})


@jax.jit
def focus(lens):
    return lens.radius.sum() * jnp.asarray(lens.depths).sum()


add("recompile", True, focus, Lens(X, jnp.ones(5)))
add("recompile", True, focus, Lens(X, 2.0, {"grids": [np.ones(3)]}))
add("recompile", True, lambda x, lenses: focus(lenses[0]) * x, X, [Lens(X, jnp.ones(5))])
add("recompile", False, focus, Lens(X, (1.0, 2.0)))
add("recompile", False, focus, Lens(jnp.ones(5), 3, {"name": "wide"}))


# ------------------------------------------------------------ numbers in the fields of objects
Rates = dataclasses.make_dataclass("Rates", [f"rate_{n}" for n in range(40)])
jax.tree_util.register_dataclass(Rates)


class Count(NamedTuple):
    steps: jax.Array
    scale: float


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Learner:
    """A learner with several parts, each with the state of an optimizer."""

    weights: jax.Array
    rates: dict[str, float]
    actor: tuple[Count, ...]
    critic: tuple[Count, ...]
    target: tuple[Count, ...]
    model: tuple[Count, ...]


def _learner(parts):
    counts = [tuple(Count(jnp.int32(n), 0.5) for n in range(parts)) for _ in range(4)]
    return Learner(X, {f"rate_{n}": 0.1 for n in range(6)}, *counts)


def _first_weight(learner):
    return learner.weights[0]


add("list_args", False, jax.jit(lambda rates: rates.rate_0), Rates(*range(40)))
add("list_args", False, jax.jit(_first_weight), _learner(5))
add("list_args", True, jax.jit(_first_weight), _learner(10))
add("list_args", True, jax.jit(lambda counts: counts[0].scale), [Count(1, 2.0)] * 40)
add("list_args", True, jax.jit(lambda lens: lens.radius[0]), Lens([float(n) for n in range(40)]))


# ------------------------------------------------------------ NumPy scalars
def scaled_by_size(x, sizes):
    return x * sizes[0]


SIZES = (np.int64(3), *range(20))
add("list_args", False, jax.jit(scaled_by_size, static_argnums=1), X, SIZES)
add("list_args", True, jax.jit(scaled_by_size), X, SIZES)
