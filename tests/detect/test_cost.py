"""Test that the cost detectors report the right findings and leave the program unchanged."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import _jax_compat, detect


def test_donation_deletes_no_array():
    captured = {"w": jnp.arange(8.0)}
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    donated = jnp.arange(8.0) * 3

    def f(x):
        return step(captured["w"]) + step(x)

    (found,) = detect.donation(f, donated)
    assert found.severity == "error"
    assert not captured["w"].is_deleted()
    assert not donated.is_deleted()


def test_transfer_restores_patched_functions():
    array_type = type(jnp.zeros(()))
    before = {
        name: vars(array_type)[name] for name in _jax_compat.HOST_READS if name in vars(array_type)
    }
    numpy_functions = np.asarray, np.array, np.copy

    def f(x):
        float(x)
        raise KeyError

    with pytest.warns(UserWarning, match="transfer may have missed something: the function raised"):
        assert detect.transfer(f, jnp.float32(1))
    assert all(vars(array_type)[name] is value for name, value in before.items())
    assert (np.asarray, np.array, np.copy) == numpy_functions


def test_donation_reports_donated_array_passed_twice():
    x = jnp.arange(4.0)
    step = jax.jit(lambda a, b: a + b, donate_argnums=0)
    assert [f.severity for f in detect.donation(step, x, x)] == ["error"]
    assert not detect.donation(step, x, x + 1)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x + 1,
        lambda x: x.astype(jnp.int32),
        lambda x: x.astype(jnp.int8),
        lambda x: x.astype(jnp.bfloat16),
        lambda x: jnp.repeat(x, 2).astype(jnp.bfloat16),
        lambda x: x.reshape(2, 4),
        lambda x: x[:2],
        lambda x: x.sum(),
    ],
)
def test_donation_agrees_with_memory_analysis(fn):
    step = jax.jit(fn, donate_argnums=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = step.lower(jnp.zeros(8)).compile().memory_analysis()
    is_unusable = memory.alias_size_in_bytes == 0
    assert bool(detect.donation(step, jnp.zeros(8))) == is_unusable


def test_timing_warns_about_clock_inside_jit():
    import time

    @jax.jit
    def f(x):
        start = time.perf_counter()
        y = x @ x
        return y, time.perf_counter() - start

    (found,) = detect.timing(f, jnp.ones((3, 3)))
    assert found.severity == "error"


def test_transfer_reports_conversion_inside_jit():
    (found,) = detect.transfer(jax.jit(lambda x: x * float(x.sum())), jnp.ones(3))
    assert "raises" in found.evidence


def test_timing_notes_dispatch_time_before_block():
    import time

    def f(x):
        start = time.perf_counter()
        y = x @ x
        started = time.perf_counter() - start
        y.block_until_ready()
        return started, time.perf_counter() - start

    (found,) = detect.timing(f, jnp.ones((3, 3)))
    assert found.severity == "note"


def test_big_const_names_constants_and_lines():
    table = jnp.ones((300, 300))
    weights = {"a": [np.ones((600, 600), np.float32)]}

    def f(x):
        y = table @ x
        return y.sum() + jnp.sin(weights["a"][0]).sum()

    found = detect.big_const(f, jnp.ones(300))
    assert {f.message.split("`")[1] for f in found} == {"table", "weights['a'][0]"}
    assert all(f.place is not None for f in found)


def test_unrolled_names_loop():
    def body(x):
        return jnp.sin(x) + 1

    def f(x):
        for _ in range(50):
            x = body(x)
        return x

    (found,) = detect.unrolled(f, 1.0)
    assert found.place is not None
    assert found.place.text == "for _ in range(50):"


def test_unrolled_counts_short_inner_loop_for_outer_one():
    def layers(x):
        for scale in range(1, 4):
            x = jnp.sin(x) * scale
        return x

    def steps(x):
        for _ in range(40):
            x = layers(x) + 1.0
        return x

    (found,) = detect.unrolled(steps, 1.0)
    assert found.message == "a Python loop is unrolled: 40 iterations"
    assert found.evidence == "280 of 280 equations; a JAX loop has about 7"
    assert found.place.text == "for _ in range(40):"


def test_unrolled_reports_long_inner_loop():
    def steps(x):
        for _ in range(20):
            x = x + 1.0
            for scale in range(1, 16):
                x = jnp.sin(x) * scale
        return x

    found = detect.unrolled(steps, 1.0)
    assert [finding.message for finding in found] == [
        "nested Python loops are unrolled: 300 iterations in total",
        "a Python loop is unrolled: 20 iterations",
    ]
