"""Programs with problems that the guards in chapter 08-dynamic-shapes catch."""

import functools

import jax
import jax.numpy as jnp

x, table = jnp.arange(10.0), jnp.ones((5, 3))


def scaled(values, by):
    return values * by


lengths = {"calls": [(jnp.ones(n),) for n in (4, 4, 3)]}
weak_then_strong = {"calls": [(1.0,), (jnp.float32(1.0),)]}
static_rate = jax.jit(lambda a, rate: a * rate, static_argnums=1)
rates = {"calls": [(x, 0.1), (x, 0.2)]}
same_nan = {"calls": [(x, float("nan")), (x, float("nan"))]}

EXAMPLES = [
    ("boolean-mask-under-jit", "dynamic_shape", lambda a: a[a > 1].sum(), (x,), {}),
    ("value-dependent-size", "dynamic_shape", lambda a: jnp.unique(a), (x,), {}),
    ("traced-size", "dynamic_shape", lambda a, n: a[:n], (x, 2), {}),
    (
        "shape-through-jnp",
        "dynamic_shape",
        lambda a: a.reshape(jnp.prod(jnp.array(a.shape))),
        (table,),
        {},
    ),
    ("ragged-lengths", "recompile", jax.jit(jnp.sum), (), lengths),
    ("retrace-on-call-form", "recompile", jax.jit(jnp.sin), (), weak_then_strong),
    ("retrace-cause-unseen", "recompile", jax.jit(jnp.sin), (), weak_then_strong),
    ("static-value-recompiles", "recompile", static_rate, (), rates),
    ("static-nan", "recompile", static_rate, (), same_nan),
    ("static-almost-equal", "recompile", static_rate, (), rates),
    (
        "fresh-function-each-call",
        "recompile",
        lambda a: jax.jit(functools.partial(scaled, by=0.5))(a),
        (table,),
        {},
    ),
    (
        "mean-of-nothing-known",
        "nan",
        lambda a, known: jnp.mean(a, where=known),
        (x, jnp.zeros(10, bool)),
        {},
    ),
]
