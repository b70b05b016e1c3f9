"""Test that `out_of_bounds` reports indices for which a program promises what is not true."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from jaxbits import detect

TEN = jnp.arange(10.0)


def read(x, i):
    return x.at[i].get(mode="promise_in_bounds")


def read_with_enum(x, i):
    return x.at[i].get(mode=jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS)


def write(x, i):
    return x.at[i].add(1.0, mode="promise_in_bounds")


@pytest.mark.parametrize("function", [read, read_with_enum, write])
@pytest.mark.parametrize("index", [jnp.int32(12), jnp.array([3, 12])])
def test_broken_promise_is_reported(function, index):
    for one in (function, jax.jit(function)):
        (found,) = detect.out_of_bounds(one, TEN, index)
        assert found.severity == "error"
        assert "promise_in_bounds" in found.message
        is_read = function is not write
        assert found.catalogue_id == ("promise-in-bounds" if is_read else "out-of-bounds-write")


@pytest.mark.parametrize("function", [read, read_with_enum, write])
def test_kept_promise_is_not_reported(function):
    assert detect.out_of_bounds(function, TEN, jnp.array([3, -1])) == []


def test_other_modes_are_meant():
    far = jnp.array([3, 12])
    assert detect.out_of_bounds(lambda x, i: x.at[i].get(mode="clip"), TEN, far) == []
    assert detect.out_of_bounds(lambda x, i: x.at[i].set(1.0, mode="drop"), TEN, far) == []
