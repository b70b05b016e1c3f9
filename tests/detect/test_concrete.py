"""A number asked for by Python, and one asked for by a function of JAX, are told apart."""

from __future__ import annotations

import math

import jax.numpy as jnp
import pytest

from jaxbits import detect

x, n, values = jnp.float32(2.0), jnp.int32(3), jnp.arange(5.0)

PYTHON_ASKS = {
    "math": (lambda a: math.sin(a), x),
    "format": (lambda a: float(f"{a:.1f}"), x),
    "size from int": (lambda a: jnp.zeros(int(a.sum())), values),
}
JAX_ASKS = {
    "arange": (jnp.arange, n),
    "nonzero": (jnp.nonzero, values),
    "on a line with more": (lambda a: [jnp.unique(a), {"read": lambda: a.item()}][0], values),
}


@pytest.mark.parametrize("name", PYTHON_ASKS)
def test_python_asks(name):
    assert len(detect.control_flow(*PYTHON_ASKS[name])) == 1
    assert detect.dynamic_shape(*PYTHON_ASKS[name]) == []


@pytest.mark.parametrize("name", JAX_ASKS)
def test_jax_asks(name):
    assert len(detect.dynamic_shape(*JAX_ASKS[name])) == 1
    assert detect.control_flow(*JAX_ASKS[name]) == []


@pytest.mark.parametrize("read", ["item", "tolist"])
def test_a_read_is_the_matter_of_transfer(read):
    def reads(a):
        return getattr(a, read)()

    assert detect.control_flow(reads, x) == detect.dynamic_shape(reads, x) == []
    assert len(detect.transfer(reads, x)) == 1
