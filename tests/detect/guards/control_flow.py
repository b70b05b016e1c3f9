"""Programs with problems that the guards in chapter 07-control-flow catch."""

import jax
import jax.numpy as jnp
from jax import lax

v0 = jnp.float32(0)
x = jnp.arange(10.0)


def sum_of(start, values):
    return lax.scan(lambda c, v: (c + v, None), start, values)[0]


def sines(value):
    for turn in range(30):
        value = jnp.sin(value) + turn
    return value


def smoothed(values, decay):
    return lax.scan(lambda c, v: (decay * c + v, None), jnp.float32(0), values)[0]


EXAMPLES = [
    (
        "construct-by-transformation",
        "control_flow",
        jax.vmap(lambda v: v if v > 0 else -v),
        (x,),
        {},
    ),
    ("python-logic-on-tracer", "control_flow", lambda v: 0 < v < 1, (0.5,), {}),
    ("range-of-tracer", "control_flow", lambda n: list(range(n)), (3,), {}),
    ("and-without-brackets", "control_flow", lambda v: v > 1 & v < 5, (6,), {}),
    ("item-cuts-gradient", "transfer", lambda v: v / v.std().item(), (x,), {}),
    ("carry-type-changes", "carry", sum_of, (jnp.int32(0), x), {}),
    ("cond-branch-types", "carry", lambda p: lax.cond(p, lambda: 1.0, lambda: 0), (True,), {}),
    ("cond-branch-trees", "carry", lambda p: lax.cond(p, lambda: x, lambda: None), (True,), {}),
    (
        "carry-changes-its-tree",
        "carry",
        lambda a: lax.scan(lambda c, v: ([*c], None), (v0, v0), a),
        (x,),
        {},
    ),
    ("python-loop-unrolled", "unrolled", sines, (1.0,), {}),
    ("loop-body-recompiles", "recompile", smoothed, (x, 0.1), {"calls": [(x, 0.2), (x, 0.3)]}),
]
