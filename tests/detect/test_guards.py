"""Test that detectors find what the catalogue's guards say they find."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbits import _catalogue, detect
from jaxbits._analysis.finding import Finding

GUARDS = Path(__file__).parent / "guards"
EXAMPLES = [
    example
    for module in sorted(GUARDS.glob("*.py"))
    for example in importlib.import_module(f"guards.{module.stem}").EXAMPLES
]
x, index_beyond_end = jnp.arange(10.0), jnp.int32(12)


@pytest.mark.parametrize(
    ("bit", "check", "fn", "args", "kwargs"), EXAMPLES, ids=[f"{b}-{c}" for b, c, *_ in EXAMPLES]
)
def test_detector_in_guard_reports_example(bit, check, fn, args, kwargs):
    found = getattr(detect, check)(fn, *args, **kwargs)
    assert [f for f in found if f.severity != "note"], bit
    assert f"`jaxbits.detect.{check}`" in _catalogue.find_bit(bit).guard


def test_every_detector_in_guards_has_example():
    named = {
        (bit.id, check)
        for bit in _catalogue.load().values()
        for check in re.findall(r"`jaxbits\.detect\.(\w+)`", bit.guard)
    }
    with_example = {(bit, check) for bit, check, *_ in EXAMPLES}
    assert named == with_example


@pytest.mark.parametrize(
    ("bit", "fn"),
    [
        ("out-of-bounds-read", lambda a, i: a[i]),
        ("take-fills", lambda a, i: jnp.take(a, i)),
        ("out-of-bounds-write", lambda a, i: a.at[i].set(1.0)),
        ("dynamic-slice-shifts", lambda a, i: lax.dynamic_slice(a, (i,), (3,))),
    ],
)
def test_out_of_bounds_finding_refers_to_closest_section(bit, fn):
    (found,) = detect.out_of_bounds(fn, x, index_beyond_end)
    assert found.reference == _catalogue.find_bit(bit).reference


def normal_plus_uniform(key):
    return jax.random.normal(key) + jax.random.uniform(key)


def for_every_row(key):
    return jax.vmap(lambda row: row + jax.random.normal(key))(x)


def promises_unique(values):
    return values.at[twice].add(1, unique_indices=True)


twice = np.array([1, 1])
shapes, rates = [(jnp.ones(2),), (jnp.ones(3),)], [(x, 1.0), (x, 2.0)]


@pytest.mark.parametrize(
    ("check", "fn", "args", "kwargs", "bit"),
    [
        ("key_reuse", normal_plus_uniform, (jax.random.key(0),), {}, "same-key-same-numbers"),
        ("key_reuse", for_every_row, (jax.random.key(0),), {}, "one-key-under-vmap"),
        ("control_flow", lambda v, mode: v, (1.0, "train"), {}, "argument-not-an-array"),
        ("control_flow", lambda v: v > 0 and v < 1, (0.5,), {}, "python-logic-on-tracer"),
        ("control_flow", lambda v: v if v > 0 else -v, (0.5,), {}, "value-needed-while-tracing"),
        ("transfer", lambda v: v - np.median(v), (x,), {}, "numpy-takes-over"),
        ("x64", jnp.asarray, (np.array([2**40]),), {}, "int64-array-cut"),
        ("x64", jnp.asarray, (np.array([2.0**60 + 2**20]),), {}, "float64-cut"),
        ("nan", jnp.linalg.cholesky, (-jnp.eye(2),), {}, "linalg-never-raises"),
        ("nan", jax.grad(jnp.linalg.norm), (jnp.zeros(2),), {}, "debug-nans-blind-spots"),
        ("nan", jnp.linalg.norm, (jnp.zeros(2),), {}, "norm-gradient-at-zero"),
        ("cast", lambda v: v.at[0].set(1.5), (jnp.arange(3),), {}, "float-into-int-update"),
        ("duplicate_indices", lambda v: v.at[twice].set(v[:2]), (x,), {}, "duplicate-indices"),
        ("duplicate_indices", promises_unique, (x,), {}, "false-unique-indices"),
        ("recompile", jax.jit(jnp.sum), (), {"calls": shapes}, "retrace-on-new-shape"),
        (
            "list_args",
            lambda v: jnp.array([e / 2 for e in v]),
            (jnp.ones(100),),
            {},
            "list-as-argument",
        ),
        (
            "recompile",
            jax.jit(lambda v, rate: v * rate, static_argnums=1),
            (),
            {"calls": rates},
            "static-value-recompiles",
        ),
    ],
)
def test_finding_catalogue_id_matches_cause(check, fn, args, kwargs, bit):
    assert getattr(detect, check)(fn, *args, **kwargs)[0].catalogue_id == bit


def test_finding_reference_without_bit_comes_from_check():
    assert Finding("error", "m", "e", "f", check="no_such_check").reference == ""
    leak = Finding("error", "m", "e", "f", check="leak")
    assert leak.reference == 'chapter 02, "A stored tracer raises an error later"'
