"""Labeled cases for what an audit cannot examine, written before the audit looked for it.

The first argument of each case is the name of a case in `jaxbits._analysis.gaps.CASES`. A negative
case has the same shape as a positive one, but an audit can examine all of it.
"""

from __future__ import annotations

import contextlib
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import Sweep, registry

CASES, case, add = registry()


X = jnp.arange(4.0)
W = jnp.ones((4, 2))


# ------------------------------------------------------------ raises
@case("raises", True, W, jnp.ones(3))
@case("raises", False, W, jnp.ones(4))
def multiply(w, x):
    return x @ w


@case("raises", True, jnp.ones(3))
@case("raises", False, X)
def refuse_short(x):
    if x.shape[0] < 4:
        raise RuntimeError("x is too short\nit needs four numbers")
    return x.sum()


@case("raises", True, {"w": W}, X)
@case("raises", False, {"w": W, "b": jnp.ones(2)}, X)
def missing_entry(params, x):
    return x @ params["w"] + params["b"]


class Layer:
    def __init__(self, **fields):
        vars(self).update(fields)

    def __call__(self, x):
        return x * self.scale


add("raises", True, Layer(rate=2.0), X)
add("raises", False, Layer(scale=2.0), X)
add("raises", True, lambda x, y: x + y, X)
add("raises", False, lambda x, y=1.0: x + y, X)
add("raises", True, jax.jit(multiply), W, jnp.ones(3))
add("raises", False, jax.jit(multiply), W, X)


@case("raises", True, X, 5)
@case("raises", False, X, 3)
def check_number(x, power):
    """Raise an error that depends on a Python number, on which tracing fails, too."""
    if power > 4:
        raise ValueError(f"power must be at most 4, got {power}")
    return x**power


@case("raises", True, X, "cube")
@case("raises", False, X, "square")
def choose_by_name(x, name):
    return {"square": jnp.square, "abs": jnp.abs}[name](x)


def _only_positive(x):
    if (x <= 0).any():
        raise FloatingPointError("x must be positive")
    return np.log(x)


@case("raises", True, X)
@case("raises", False, X + 1)
def call_host(x):
    return jax.pure_callback(_only_positive, jax.ShapeDtypeStruct(x.shape, x.dtype), x).sum()


add("raises", True, jax.jit(lambda x: x if x.sum() > 1 else -x), X)
add("raises", False, jax.jit(lambda x: jnp.where(x.sum() > 1, x, -x)), X)
add("raises", True, lambda x: lax.scan(lambda c, v: (c + v, c), jnp.int32(0), x), X)
add("raises", False, lambda x: lax.scan(lambda c, v: (c + v, c), jnp.float32(0), x), X)
add("raises", True, lambda x: x.at[0].put(1.0), X)
add("raises", False, lambda x: x.at[0].set(1.0), X)


@case("raises", True, Sweep([(X, W), (jnp.ones(3), W)]))
@case("raises", False, Sweep([(X, W), (jnp.ones((3, 4)), W)]))
def later_call(x, w):
    return x @ w


@case("raises", True, X, [jnp.ones(3)])
@case("raises", False, X, [jnp.ones(4)])
def caught_once(x, others):
    """Handle one error, and let another through."""
    with contextlib.suppress(TypeError, ValueError):
        x = x + jnp.ones(7)
    return x + others[0]


# ------------------------------------------------------------ untraced
step = jax.jit(lambda w, x: (w - 0.1 * (x @ w).mean() * w, ((x @ w) ** 2).mean()))


@case("untraced", True, W, X)
def train_step_to_float(w, x):
    w, loss = step(w, x)
    return w, float(loss)


@case("untraced", False, W, X)
def train_step_of_arrays(w, x):
    w, loss = step(w, x)
    return w, 2.0 * loss


@case("untraced", True, X)
def branch_on_value(x):
    if x.sum() > 1:
        return x / x.sum()
    return x


@case("untraced", False, X)
def branch_on_shape(x):
    if x.shape[0] > 1:
        return x / x.sum()
    return x


@case("untraced", True, X)
def loop_on_value(x):
    while abs(x).max() > 1:
        x = x / 2
    return x


@case("untraced", False, X)
def loop_in_jax(x):
    return lax.while_loop(lambda v: abs(v).max() > 1, lambda v: v / 2, x)


add("untraced", True, lambda x: jnp.asarray(np.sort(x)), X)
add("untraced", False, lambda x: jnp.sort(x) + np.sort([2.0, 1.0, 4.0, 3.0]), X)
add("untraced", True, lambda x: x[x > 1].sum(), X)
add("untraced", False, lambda x: jnp.where(x > 1, x, 0).sum(), X)
add("untraced", True, lambda x, n: jnp.tile(x, n), X, jnp.int32(2))
add("untraced", False, lambda x, n: jnp.tile(x, n), X, 2)
add("untraced", True, lambda x: x * math.sqrt(x.sum()), X)
add("untraced", False, lambda x: x * math.sqrt(x.size), X)
add("untraced", True, lambda x, table: x * table[x.argmax().item()], X, [1.0, 2.0, 3.0, 4.0])
add("untraced", False, lambda x, table: x * jnp.array(table)[x.argmax()], X, [1.0, 2.0, 3.0, 4.0])
add("untraced", True, lambda x: x * len(f"{x[0]:.2f}"), X)
add("untraced", False, lambda x: x * len(f"{x.shape[0]:.2f}"), X)
add("untraced", True, lambda n, x: x * [1.0, 2.0][n], jnp.int32(1), X)
add("untraced", False, functools.partial(lambda n, x: x * [1.0, 2.0][n], jnp.int32(1)), X)
add("untraced", False, lambda n, x: x * [1.0, 2.0][n], 1, X)


# ------------------------------------------------------------ partial
class Settings:
    """A settings object with more attributes than `stale_global` tries, which nobody changes."""

    def __init__(self):
        vars(self).update({f"rate{number}": 0.5 for number in range(30)})

    def __call__(self, x):
        return x * sum(vars(self).values())


vocabulary = {f"word{number}": number for number in range(6000)}
positions = [(number, str(number)) for number in range(6000)]
arrays = [X] * 6000
nested = [[number] for number in range(6000)]
records = {f"record{number}": {"number": number} for number in range(6000)}
layers = [Settings.__new__(Settings) for _ in range(6000)]

add("partial", True, lambda x: x * len(nested), X)
add("partial", True, lambda x: x * len(records), X)
add("partial", True, lambda x: x * len(layers), X)
add("partial", False, lambda x: x * len(vocabulary), X)
add("partial", False, lambda x: x * len(positions), X)
add("partial", False, lambda x: x * len(arrays), X)
add("partial", False, Settings(), X)


def _many_names():
    """Return a function that reads more globals that change than `stale_global` tries."""
    names = [f"n{number}" for number in range(30)]
    scope = {name: [1.0] for name in names}
    code = f"def many_names(x):\n    return x + {' + '.join(f'{name}[0]' for name in names)}"
    exec(compile(code, "many_names.py", "exec"), scope)
    return scope["many_names"]


add("partial", True, _many_names(), X)


# A result may be a constant, which has no gradient.
add("partial", False, lambda x: (jnp.sum(jnp.sqrt(x)), 1.0), X + 1)
add("partial", False, lambda x: {"loss": jnp.log(x).sum(), "weight": 0.5}, X + 1)
