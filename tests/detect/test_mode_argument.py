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


def test_mode_of_another_call_in_the_statement_does_not_count():
    def write(x, i):
        return x.at[i].add(1.0, mode="drop").at[i].add(1.0)

    def in_lines(x, i):
        return x.at[i].add(1.0, mode="drop").at[i].add(jnp.take(x, i, mode="clip"))

    def read(x, i):
        return x.at[i].get(mode="clip") + x.at[i].get(fill_value=0.0)

    for function in (write, in_lines):
        (found,) = detect.out_of_bounds(function, TEN, FAR)
        assert "write out of bounds" in found.message
    assert "read out of bounds" in detect.out_of_bounds(read, TEN, FAR)[0].message


def test_modes_of_all_calls_in_the_statement_are_meant():
    def write(x, i):
        options = {"mode": "drop"}
        return x.at[i].add(1.0, mode="drop").at[i].add(1.0, **options)

    assert detect.out_of_bounds(write, TEN, FAR) == []
    assert detect.out_of_bounds(lambda x, i: jnp.take(x, i, mode="clip") + 1.0, TEN, FAR) == []


def test_write_of_put_along_axis_counts_unless_it_has_a_mode():
    def write(x, i):
        return jnp.put_along_axis(x, i, 1.0, axis=0, inplace=False)

    def drop(x, i):
        return jnp.put_along_axis(x, i, 1.0, axis=0, inplace=False, mode="drop")

    (found,) = detect.out_of_bounds(write, TEN, FAR)
    assert found.message == "write out of bounds: it is dropped"
    assert detect.out_of_bounds(drop, TEN, FAR) == []
