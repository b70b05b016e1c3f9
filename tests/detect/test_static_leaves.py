"""Test that a trace treats as static what the function's own transformation treats as static."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from filtering import filter_jit, filter_value_and_grad
from flax import nnx

from jaxbits import audit
from jaxbits._analysis.function_under_test import FunctionUnderTest

X = jnp.arange(6.0).reshape(2, 3)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    size: int = 3
    activation: Any = jnp.tanh

    def __call__(self, x):
        return self.activation(x @ self.weight) + jnp.zeros(self.size)


LAYER = Layer(jnp.eye(3))


def power(x, count, rate):
    for _ in range(count):
        x = x * rate
    return x


def scaled(x, rate):
    return x * rate


class Powers:
    def __init__(self):
        self.bias = 1.0

    @functools.partial(jax.jit, static_argnums=(0, 2))
    def power(self, x, count, rate):
        return power(x, count, rate) + self.bias


def apply(layer, x):
    return layer(x)


@pytest.mark.parametrize(
    ("fn", "args", "kwargs", "traced"),
    [
        (jax.jit(scaled), (X, 2.0), {}, [0, 1]),
        (jax.jit(power, static_argnums=1), (X, 2, 0.5), {}, [0, 2]),
        (jax.jit(power, static_argnames="count"), (X,), {"rate": 0.5, "count": 2}, [0, 2]),
        (functools.partial(jax.jit(power, static_argnums=1), X), (2, 0.5), {}, [1]),
        (Powers().power, (X, 2, 0.5), {}, [0, 2]),
        (nnx.jit(power, static_argnames="count"), (X, 2, 0.5), {}, [0, 2]),
        (filter_jit(power), (X, 2, 0.5), {}, [0]),
        (filter_jit(power), (X, jnp.int32(2), 0.5), {}, [0, 1]),
        (filter_jit(apply), (LAYER, X), {}, [0, 3]),
        (apply, (LAYER, X), {}, [0, 3]),
        (filter_value_and_grad(lambda m, x: m(x).sum()), (LAYER, X), {}, [0, 3]),
        (scaled, (X, 2.0), {}, [0, 1]),
        (power, (X, 2, 0.5), {}, [0]),
        (power, (X, np.int64(2), 0.5), {}, [0]),
        (scaled, (X, np.float32(2)), {}, [0, 1]),
        (jax.jit(power, static_argnums=1), (X, np.int64(2), np.float32(0.5)), {}, [0, 2]),
        (filter_jit(power), (X, np.int64(2), 0.5), {}, [0]),
        (jax.grad(lambda w, n: w * n), (2.0, 3), {}, [0, 1]),
    ],
)
def test_trace_follows_transformation(fn, args, kwargs, traced):
    target = FunctionUnderTest(fn, args, kwargs)
    assert target.trace.traced == traced


@pytest.mark.parametrize(
    ("fn", "layer", "is_jitted"),
    [
        (jax.jit(apply), nnx.Linear(3, 2, rngs=nnx.Rngs(0)), True),
        (nnx.jit(apply), nnx.Linear(3, 2, rngs=nnx.Rngs(0)), True),
        (filter_jit(apply), LAYER, True),
        (apply, LAYER, False),
        (functools.wraps(apply)(lambda *args: filter_jit(apply)(*args)), LAYER, False),
    ],
)
def test_wrappers_that_compile_count_as_jitted(fn, layer, is_jitted):
    assert FunctionUnderTest(fn, (layer, X)).is_jitted is is_jitted


def test_results_of_filtered_step_may_hold_functions():
    step = filter_jit(lambda layer, x: (layer, layer(x).sum()))
    program = FunctionUnderTest(step, (LAYER, X)).trace.program
    assert program is not None
    assert program.out_avals[0].shape == (3, 3)


def test_module_with_functions_may_be_passed_and_returned():
    report = audit(lambda layer, x: (layer, layer(x).sum()), LAYER, X)
    assert report.ok, str(report)
    assert not report.notes, str(report)
