"""Test which writes and reads `out_of_bounds` takes for ones that choose a mode."""

from __future__ import annotations

import jax.numpy as jnp

from jaxbits import detect

TEN, FAR = jnp.arange(10.0), jnp.array([3, 12])


def test_comment_is_no_argument():
    def write(x, i):
        return (
            # By default, mode = None.
            x.at[i].add(1.0)
        )

    assert [found.severity for found in detect.out_of_bounds(write, TEN, FAR)] == ["error"]


def test_default_mode_is_not_chosen():
    assert detect.out_of_bounds(lambda x, i: x.at[i].add(1.0, mode=None), TEN, FAR)


def test_chosen_modes_are_meant():
    def write(x, i):
        return x.at[i].add(
            1.0,
            mode="drop",
        )

    def read(x, i):
        options = {"mode": "clip"}
        return x.at[i].get(**options)

    assert detect.out_of_bounds(write, TEN, FAR) == []
    assert detect.out_of_bounds(read, TEN, FAR) == []
