"""Test the detectors' shared parts: instrumented runs, key flow, snapshots, and call monitoring."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbits import detect
from jaxbits._analysis.instrumented_run import run_instrumented
from jaxbits._analysis.python_state.call_monitor import monitor_calls
from jaxbits._analysis.python_state.references import Reference
from jaxbits._analysis.python_state.snapshot import StateSnapshot

normal, split, fold_in = jax.random.normal, jax.random.split, jax.random.fold_in
KEY = jax.random.key(0)


def trace(fn, *args):
    return jax.make_jaxpr(fn)(*args)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: lax.scan(lambda c, v: (c + v, c * v), 0.0, x),
        lambda x: lax.scan(lambda c, v: (c + v, None), 0.0, x, reverse=True)[0],
        lambda x: lax.while_loop(lambda c: c.sum() < 50, lambda c: c * 2, x + 1),
        lambda x: lax.cond(x[0] > 1, jnp.sin, jnp.cos, x),
        lambda x: lax.switch(jnp.int32(5), [jnp.sin, jnp.cos, jnp.tanh], x),
        lambda x: jax.jit(jax.grad(lambda v: jax.nn.softmax(v)[0]))(x),
        lambda x: jax.checkpoint(lambda v: jnp.sin(v).sum())(x),
        lambda x: jax.vmap(lambda v: lax.fori_loop(0, 3, lambda i, s: s * v, v))(x),
        lambda x: lax.scan(lambda c, v: (c, v), 0.0, x[:0]),
        lambda x: jnp.sort(jnp.linalg.norm(x[:, None] - x, axis=1)),
    ],
)
def test_run_instrumented_returns_same_results(fn):
    x = jnp.arange(6.0)
    seen = run_instrumented(trace(fn, x), [x])
    for got, expected in zip(seen.outputs, jax.tree.leaves(fn(x)), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_out_of_bounds_counts_indices_in_scan():
    def f(x):
        def body(total, i):
            return total + x[i + 8], None

        return lax.scan(body, 0.0, jnp.arange(5))[0]

    (found,) = detect.out_of_bounds(f, jnp.arange(10.0))
    assert found.evidence == "3 indices outside 0…9, 10 to 12"
    assert found.place is not None
    assert found.place.text == "return total + x[i + 8], None"


def test_out_of_bounds_notes_masked_read():
    def f(x, i):
        return jnp.where(i < 4, x[i], 0.0).sum()

    (found,) = detect.out_of_bounds(f, jnp.ones(4), jnp.arange(6))
    assert found.severity == "note"


def test_key_reuse_follows_keys_into_nested_loops():
    def fresh(k):
        def outer(c, i):
            row = fold_in(k, i)
            inner = lambda j, s: s + normal(fold_in(row, j))  # noqa: E731
            return lax.fori_loop(0, 3, inner, c), None

        return lax.scan(outer, 0.0, jnp.arange(4))[0]

    def same_row(k):
        def outer(c, i):
            inner = lambda j, s: s + normal(fold_in(k, j))  # noqa: E731
            return lax.fori_loop(0, 3, inner, c), None

        return lax.scan(outer, 0.0, jnp.arange(4))[0]

    assert detect.key_reuse(fresh, KEY) == []
    assert detect.key_reuse(same_row, KEY)


def test_state_snapshot_restores_nested_state():
    class Thing:
        def __init__(self):
            self.log = [{"a": 1}]

    holder = {"thing": Thing()}
    snapshot = StateSnapshot([Reference("global", "thing", holder, "thing")])
    thing = holder["thing"]
    thing.log[0]["a"] = 2
    thing.log.append({})
    thing.new = 3
    assert snapshot.changes()
    snapshot.restore()
    assert thing.log == [{"a": 1}]
    assert vars(thing).keys() == {"log"}


def test_monitor_calls_sees_only_user_lines():
    with monitor_calls([]) as seen:
        jnp.sin(jnp.ones(3)) + 1
        sorted([3, 1])
    assert not seen.calls
    with monitor_calls([]) as seen:
        np.random.default_rng()
        open(__file__).close()
    assert {name for name, _ in seen.calls} == {"random.getrandbits", "open"}
