"""The detectors of what programs cost: on labelled cases, and that they leave all as it was."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits import _jax_compat, detect


def test_a_plain_run_donates_nothing():
    held = {"w": jnp.arange(8.0)}
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    given = jnp.arange(8.0) * 3

    def f(x):
        return step(held["w"]) + step(x)

    (found,) = detect.donation(f, given)
    assert found.severity == "error"
    assert not held["w"].is_deleted()
    assert not given.is_deleted()


def test_a_plain_run_puts_back_what_it_replaced():
    kind = type(jnp.zeros(()))
    before = {name: vars(kind)[name] for name in _jax_compat.HOST_READS if name in vars(kind)}
    numpys = np.asarray, np.array, np.copy

    def f(x):
        float(x)
        raise KeyError

    assert detect.transfer(f, jnp.float32(1))
    assert all(vars(kind)[name] is value for name, value in before.items())
    assert (np.asarray, np.array, np.copy) == numpys


def test_an_array_passed_twice_to_a_jitted_function():
    x = jnp.arange(4.0)
    step = jax.jit(lambda a, b: a + b, donate_argnums=0)
    assert [f.severity for f in detect.donation(step, x, x)] == ["error"]
    assert not detect.donation(step, x, x + 1)


def test_a_clock_inside_of_jit_measures_the_trace():
    import time

    @jax.jit
    def f(x):
        start = time.perf_counter()
        y = x @ x
        return y, time.perf_counter() - start

    (found,) = detect.timing(f, jnp.ones((3, 3)))
    assert found.severity == "warning"


def test_a_conversion_inside_of_jit():
    (found,) = detect.transfer(jax.jit(lambda x: x * float(x.sum())), jnp.ones(3))
    assert "raises" in found.evidence


def test_the_time_to_start_work_may_be_wanted():
    import time

    def f(x):
        start = time.perf_counter()
        y = x @ x
        started = time.perf_counter() - start
        y.block_until_ready()
        return started, time.perf_counter() - start

    (found,) = detect.timing(f, jnp.ones((3, 3)))
    assert found.severity == "note"


def test_names_and_lines_of_constants():
    table = jnp.ones((300, 300))
    weights = {"a": [np.ones((600, 600), np.float32)]}

    def f(x):
        y = table @ x
        return y.sum() + jnp.sin(weights["a"][0]).sum()

    found = detect.big_const(f, jnp.ones(300))
    assert {f.message.split("`")[1] for f in found} == {"table", "weights['a'][0]"}
    assert all(f.place is not None for f in found)


def test_the_loop_is_named():
    def body(x):
        return jnp.sin(x) + 1

    def f(x):
        for _ in range(50):
            x = body(x)
        return x

    (found,) = detect.unrolled(f, 1.0)
    assert found.place is not None
    assert found.place.text == "for _ in range(50):"
