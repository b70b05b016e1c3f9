"""Test the instrumented run that all numeric detectors share."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbits import audit, detect
from jaxbits._analysis import inner_limits
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.instrumented_run import run_instrumented
from jaxbits._analysis.probes import Measurement, Plan, Probe

PROBE_EVERYWHERE = Probe(
    lambda equation, context: bool(equation.outvars),
    lambda equation, inputs, outputs: Measurement(jnp.ones(outputs[0].shape, bool), jnp.int32(0)),
)


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: lax.scan(lambda c, v: (c + v, c * v), 0.0, x, reverse=True),
        lambda x: lax.while_loop(lambda c: c.sum() < 50, lambda c: c * 2, x + 1),
        lambda x: lax.switch(jnp.int32(5), [jnp.sin, jnp.cos, jnp.tanh], x),
        lambda x: jax.jit(jax.grad(lambda v: jax.nn.softmax(v)[0]))(x),
        lambda x: jax.vmap(lambda v: lax.while_loop(lambda s: s < 9, lambda s: s * 2 + 1, v))(x),
        lambda x: jax.vmap(lambda v: lax.fori_loop(0, 3, lambda i, s: s * v, v))(x),
        lambda x: jnp.sort(jnp.linalg.norm(x[:, None] - x, axis=1)),
    ],
)
def test_run_instrumented_with_probes_returns_same_results(fn):
    x = jnp.arange(6.0)
    seen = run_instrumented(jax.make_jaxpr(fn)(x), [x], PROBE_EVERYWHERE)
    assert seen.sites
    for got, expected in zip(seen.outputs, jax.tree.leaves(fn(x)), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_out_of_bounds_ignores_finished_lanes_of_while_loop():
    x = jnp.arange(5.0)

    def total(n):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, 0.0))[1]

    assert detect.out_of_bounds(jax.vmap(total), jnp.array([2, 5, 3])) == []
    (found,) = detect.out_of_bounds(jax.vmap(total), jnp.array([2, 7, 3]))
    assert found.evidence == "2 indices outside 0…4, 5 to 6"


def test_duplicate_indices_ignores_finished_lanes_of_while_loop():
    def count(n, ids):
        def add(_, counts):
            return counts.at[ids].set(counts[ids] + 1)

        return lax.fori_loop(0, n, add, jnp.zeros(4))

    ids = jnp.array([[1, 1], [0, 3], [2, 2]])
    assert detect.duplicate_indices(jax.vmap(count), jnp.array([0, 5, 0]), ids) == []
    (found,) = detect.duplicate_indices(jax.vmap(count), jnp.array([1, 5, 3]), ids)
    assert found.evidence == "4 writes repeat indices, from (0, 1) to (2, 2)"


def test_out_of_bounds_checks_condition_of_while_loop():
    x = jnp.arange(5.0)

    def until(n):
        return lax.while_loop(lambda i: (x[i] >= 0) & (i < n), lambda i: i + 1, 0)

    assert detect.out_of_bounds(until, 4) == []
    assert detect.out_of_bounds(until, 7)


def test_out_of_bounds_detects_masking_per_read():
    def f(x, i):
        masked = jnp.where(i < 4, x[i], 0.0)
        return masked.sum() + x[i + 1].sum()

    found = detect.out_of_bounds(f, jnp.ones(4), jnp.arange(6))
    assert [finding.severity for finding in found] == ["error", "note"]


def test_out_of_bounds_accepts_mode_in_unpacked_options() -> None:
    drop = {"mode": "drop"}

    def unpacks_mode(x, i):
        return x.at[i].add(1.0, **drop)

    def unpacks_elsewhere(x, i):
        options = dict(**drop)
        return x.at[i].add(1.0) if options else x

    assert detect.out_of_bounds(unpacks_mode, jnp.ones(4), jnp.arange(6)) == []
    assert len(detect.out_of_bounds(unpacks_elsewhere, jnp.ones(4), jnp.arange(6))) == 1


def test_instrumented_run_serves_all_checks():
    checks = [detect.out_of_bounds, detect.cast, detect.overflow]
    target = FunctionUnderTest(
        lambda x, i: x[i].astype(jnp.uint8) + i * i,
        (jnp.ones(3) * 300, jnp.int32(70000)),
        probes=[probe for check in checks for probe in check.probes],
    )
    for check in checks:
        assert check.on(target), check.name
    assert target.instrumented_run is target.instrumented_run
    assert target.left_out == []


def test_plan_size_is_linear_in_depth():
    def nested(depth):
        def step(c, _):
            inner = lax.scan(nested(depth - 1), c, None, length=2)[0] if depth else c
            return inner + 1, None

        return step

    def equations(depth):
        program = jax.make_jaxpr(lambda x: lax.scan(nested(depth), x, None, length=2)[0])(0)
        return Plan(program, [PROBE_EVERYWHERE]).size

    assert equations(8) - equations(6) == equations(4) - equations(2)


def test_run_instrumented_skips_and_lists_failed_probes():
    def broken(*_):
        raise TypeError

    plan = Plan(jax.make_jaxpr(jnp.sin)(1.0), [Probe(lambda *_: True, broken)])
    assert plan.sites
    seen = run_instrumented(jax.make_jaxpr(jnp.sin)(1.0), [1.0], Probe(lambda *_: True, broken))
    assert seen.sites == []
    assert seen.plan.failed == {"sin"}


def reads_twice(table, used, masked):
    kept = jnp.where(masked < table.shape[0], table[masked], 0.0)
    return table[used].sum(), kept.sum()


@pytest.mark.parametrize(("seconds", "severities"), [(60.0, ["error", "note"]), (-1.0, [])])
def test_untested_mask_is_gap_and_not_finding(monkeypatch, seconds, severities):
    monkeypatch.setattr(inner_limits.LIMITS, "masking_seconds", seconds)
    table, used, masked = jnp.arange(4.0), jnp.array([1, 4]), jnp.array([2, 9])
    report = audit(reads_twice, table, used, masked, checks=["out_of_bounds"])
    assert sorted(finding.severity for finding in report.findings) == severities
    assert [gap.case for gap in report.gaps] == ([] if severities else ["partial", "partial"])
    (found,) = detect.out_of_bounds(lambda t, i: t[i].sum(), table, used)
    assert found.severity == "error"  # A single bad read needs no further run.


def _mean(w, x):
    return w - 0.1 * lax.pmean(w * x, "i")


@pytest.mark.parametrize(
    "update",
    [
        lambda w, xs: lax.scan(lambda w, x: (_mean(w, x), None), w, xs)[0],
        lambda w, xs: lax.while_loop(lambda w: lax.pmax(w, "i") > 0.1, lambda w: _mean(w, 1.0), w),
        lambda w, xs: lax.cond(w > 0, lambda w: _mean(w, 1.0), lambda w: w, w),
        lambda w, xs: jax.jit(lambda w: _mean(w, 1.0) + lax.axis_index("i"))(w),
    ],
    ids=["scan", "while", "cond", "jit"],
)
def test_pmap_with_collective_in_inner_program_is_examined(update):
    mapped = jax.pmap(lambda w, xs, i: update(w, xs) + xs[i], axis_name="i")
    arrays = jnp.ones(1), jnp.ones((1, 4))
    assert audit(mapped, *arrays, jnp.array([7]))["out_of_bounds"]
    assert audit(mapped, *arrays, jnp.array([2])).ok


def repeat_twenty_times(x):
    for i in range(20):
        x = x - 0.1 * jnp.tanh(x + i) + jnp.sqrt(x * x + 1.0)
    return x


def loop_twenty_times(x):
    return jax.lax.fori_loop(0, 20, lambda i, x: x - 0.1 * jnp.tanh(x + i), x)


@pytest.mark.parametrize("wrap", [jax.pmap, lambda f: jax.jit(jax.pmap(f))])
def test_unrolled_examines_function_of_pmap(wrap) -> None:
    (found,) = detect.unrolled(wrap(repeat_twenty_times), jnp.ones((1, 3)))
    assert found.message == "a Python loop is unrolled: 20 iterations"
    assert found.place.text == "for i in range(20):"
    assert detect.unrolled(wrap(loop_twenty_times), jnp.ones((1, 3))) == []
