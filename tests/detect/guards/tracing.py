"""Programs with problems that the guards in chapter 01-tracing catch."""

import jax
import jax.numpy as jnp

kept: list = []
turns = iter([1.0, 2.0])


def keeps(value):
    kept.append(value * 2)
    return value


def prints(value):
    print(value)
    return value


lengths = {"calls": [(jnp.ones(n),) for n in (4, 4, 3)]}


EXAMPLES = [
    ("value-needed-while-tracing", "control_flow", lambda v: v if v > 0 else -v, (1.0,), {}),
    ("value-needed-while-tracing", "dynamic_shape", lambda n: jnp.zeros(n), (3,), {}),
    ("side-effect-vanishes", "side_effect", prints, (1.0,), {}),
    ("side-effect-vanishes", "leak", keeps, (1.0,), {}),
    ("side-effect-vanishes", "iterator", lambda v: v + next(turns), (1.0,), {}),
    ("retrace-on-new-shape", "recompile", jax.jit(jnp.sin), (), lengths),
]
