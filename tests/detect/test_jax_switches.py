"""Test the line in a report that names JAX's switches, and that the switches do what it says."""

from __future__ import annotations

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify

from jaxbits import audit
from jaxbits._analysis.jax_switches import SWITCHES


def reuses_a_key(key):
    return jax.random.normal(key) + jax.random.uniform(key)


def reads_past_the_end(x, i):
    return x[i] + x[i + 1]


def test_the_line_is_the_last_one_and_names_each_switch_once():
    report = audit(lambda k, x, i: reuses_a_key(k) + reads_past_the_end(x, i), *ARGUMENTS)
    assert [finding.check for finding in report] == ["key_reuse", "out_of_bounds"]
    line = f"to watch a whole run: {SWITCHES['key_reuse']}; {SWITCHES['out_of_bounds']}"
    assert str(report).splitlines()[-1] == line
    assert str(report).count("to watch") == 1
    assert report.to_dict()["switches"] == line
    assert "<code>jax.debug_key_reuse(True)</code> follows keys" in report._repr_html_()


ARGUMENTS = (jax.random.key(0), jnp.arange(3.0), 7)


def test_no_line_without_a_finding_above_a_note():
    clean = audit(lambda x: x + 1, 1.0)
    note = audit(lambda w, x: w * x, jnp.ones(3), np.ones(3), carry=0)
    for report in (clean, note):
        assert report.ok
        assert "to watch" not in str(report) + report._repr_html_()
        assert report.to_dict()["switches"] == ""


def test_key_reuse_across_calls():
    draw, key = jax.jit(jax.random.normal), jax.random.key(0)
    assert audit(draw, key).ok
    with jax.debug_key_reuse(True):
        draw(key)
        with pytest.raises(jax.errors.KeyReuseError):
            draw(key)


def test_nan_in_a_later_batch():
    log = jax.jit(jnp.log)
    with jax.debug_nans(True):
        log(jnp.ones(2))
        with pytest.raises(FloatingPointError):
            log(-jnp.ones(2))


def test_indices_of_a_later_call():
    checked = jax.jit(checkify.checkify(reads_past_the_end, errors=checkify.index_checks))
    assert checked(jnp.arange(3.0), 0)[0].get() is None
    assert "out-of-bounds" in checked(jnp.arange(3.0), 2)[0].get()


def test_a_later_call_that_is_traced_again(caplog):
    double = jax.jit(lambda x: 2 * x)
    before = jax.config.jax_explain_cache_misses
    jax.config.update("jax_explain_cache_misses", True)
    try:
        double(jnp.ones(2))
        caplog.clear()
        with caplog.at_level(logging.WARNING, "jax"):
            double(jnp.ones(3))
    finally:
        jax.config.update("jax_explain_cache_misses", before)
    assert "CACHE MISS" in caplog.text
    assert "now f32[3] and before f32[2]" in caplog.text


def test_transfers_in_a_loop():
    def loop(batches):
        for batch in batches:
            double(batch)

    double = jax.jit(lambda x: 2 * x)
    with jax.transfer_guard("disallow"):
        loop([])
        with pytest.raises(RuntimeError, match="isallowed"):
            loop([np.ones(2), np.ones(2)])
