"""Test the functions that list the intermediates of a jaxpr and compare their dtypes."""

import jax
import jax.numpy as jnp
import pytest

from jaxbits import x64_on
from jaxbits.book.experiments.jaxpr_diff import first_dtype_difference, intermediates


def total(x, scale):
    def add(carry, value):
        return carry + value, None

    start = jnp.zeros((), x.dtype)
    return scale * jax.lax.scan(add, start, jnp.sin(x))[0]


def test_intermediates_include_loop_bodies_with_source_lines():
    result = intermediates(total, jnp.ones(3), 2.0)
    assert [part.operation for part in result] == ["sin", "add", "mul"]
    assert result[1].code == "return carry + value, None"


def test_first_dtype_difference_finds_widened_operation():
    with x64_on():
        x = jnp.ones(3, jnp.float32)
        weak, strong = (intermediates(total, x, n) for n in (2.0, jnp.array([2.0])[0]))
    assert first_dtype_difference(weak, strong) == 2
    assert (weak[2].dtype, strong[2].dtype) == ("float32", "float64")
    assert first_dtype_difference(weak, weak) is None


def test_first_dtype_difference_rejects_different_operations():
    with pytest.raises(ValueError, match=r"got different ones \(1 and 2 operations"):
        first_dtype_difference(
            intermediates(jnp.sin, 1.0), intermediates(lambda x: -jnp.sin(x), 1.0)
        )
