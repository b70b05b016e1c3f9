"""Test that control_flow reports values needed by Python and dynamic_shape those needed by JAX."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import pytest

from jaxbits import detect

x, n, values = jnp.float32(2.0), jnp.int32(3), jnp.arange(5.0)

NEEDED_BY_PYTHON = {
    "math": (lambda a: math.sin(a), x),
    "format": (lambda a: float(f"{a:.1f}"), x),
    "size from int": (lambda a: jnp.zeros(int(a.sum())), values),
}
NEEDED_BY_JAX = {
    "arange": (jnp.arange, n),
    "nonzero": (jnp.nonzero, values),
    "unique next to item": (lambda a: [jnp.unique(a), {"read": lambda: a.item()}][0], values),
}


@pytest.mark.parametrize("name", NEEDED_BY_PYTHON)
def test_control_flow_reports_values_that_python_needs(name):
    assert len(detect.control_flow(*NEEDED_BY_PYTHON[name])) == 1
    with pytest.warns(UserWarning, match="dynamic_shape may have missed something"):
        assert detect.dynamic_shape(*NEEDED_BY_PYTHON[name]) == []


@pytest.mark.parametrize("name", NEEDED_BY_JAX)
def test_dynamic_shape_reports_values_that_jax_needs(name):
    assert len(detect.dynamic_shape(*NEEDED_BY_JAX[name])) == 1
    with pytest.warns(UserWarning, match="control_flow may have missed something"):
        assert detect.control_flow(*NEEDED_BY_JAX[name]) == []


@pytest.mark.parametrize("method", ["item", "tolist"])
def test_only_transfer_reports_item_and_tolist(method):
    def reads(a):
        return getattr(a, method)()

    for check in (detect.control_flow, detect.dynamic_shape):
        with pytest.warns(UserWarning, match=f"{check.name} may have missed something"):
            assert check(reads, x) == []
    assert len(detect.transfer(reads, x)) == 1


def test_unrolled_counts_iterations_and_not_the_leaves_of_a_tree():
    def accumulate(columns):
        total = jnp.zeros(3)
        for t in range(40):
            row = jax.tree.map(lambda column, t=t: column[t], columns)
            total = jnp.sin(total) + row["a"] * row["b"]
            total = jnp.cos(total) * row["c"]
        return total

    (found,) = detect.unrolled(accumulate, {name: jnp.ones((40, 3)) for name in "abcdefg"})
    assert found.message == "a Python loop is unrolled: 40 iterations"


WEIGHTS = [jnp.ones((2, 8)), jnp.ones((8, 4)), jnp.ones((4, 2))]
FUNCTIONS = [jnp.sin, jnp.cos, jnp.tanh, jnp.exp, jnp.sqrt]


def _network(weights, x):
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return x


def _sample(x, steps):
    for _ in range(steps):
        x = x + _network(WEIGHTS, x) / steps
    return x


def _transform(x, steps):
    for _ in range(steps):
        x = sum(0.1 * jnp.log(function(x) + 2) for function in FUNCTIONS)
    return x


def _sum_of_table(x, rows, columns):
    total = jnp.zeros(2)
    for i in range(rows):
        for j in range(columns):
            total = jnp.sin(total) + x[i, j] * jnp.cos(total)
    return total


@pytest.mark.parametrize("function", [_sample, _transform])
def test_unrolled_counts_only_iterations_with_the_same_operations(function):
    start = jnp.ones((4, 2))
    assert detect.unrolled(functools.partial(function, steps=9), start) == []
    (found,) = detect.unrolled(functools.partial(function, steps=30), start)
    assert found.message == "a Python loop is unrolled: 30 iterations"
    assert found.place.text.startswith("for _ in range(steps):")


def test_unrolled_says_that_loops_are_nested():
    table = functools.partial(_sum_of_table, rows=3, columns=9)
    (found,) = detect.unrolled(table, jnp.ones((3, 9)))
    assert found.message == "nested Python loops are unrolled: 27 iterations in total"
    assert found.place.text == "for j in range(columns):"


class Settings(NamedTuple):
    """Settings that a function reads while it runs without `jax.jit`."""

    scale: jax.Array
    is_ready: bool = True
    steps: int = 2


def scale_if_ready(settings, array):
    if not settings.is_ready:
        raise ValueError("settings must be ready")
    return settings.scale * array


def scale_repeatedly(settings, array):
    for _ in range(settings.steps):
        array = settings.scale * array
    return array


@pytest.mark.parametrize("function", [scale_if_ready, scale_repeatedly])
def test_python_values_in_named_tuple_matter_only_under_jit(function):
    settings = Settings(values)
    assert [f.severity for f in detect.control_flow(function, settings, values)] == ["note"]
    assert [f.severity for f in detect.control_flow(jax.jit(function), settings, values)] == [
        "error"
    ]


def test_branch_in_library_is_not_about_shape():
    source = "def apply(x, is_training):\n    return 2 * x if is_training else x\n"
    library = {"__name__": "library"}
    exec(compile(source, "/site-packages/library.py", "exec"), library)

    def step(x, flags):
        return library["apply"](x, flags["training"])

    arguments = (values, {"training": True})
    assert detect.dynamic_shape(step, *arguments) == []
    assert len(detect.control_flow(step, *arguments)) == 1


def test_branch_in_jax_is_about_shape():
    def kept(condition, x):
        return jnp.compress(condition, x)

    arguments = (jnp.array([True, False, True]), jnp.arange(3.0))
    assert len(detect.dynamic_shape(kept, *arguments)) == 1
    with pytest.warns(UserWarning, match="cannot trace the function"):
        assert detect.control_flow(kept, *arguments) == []
