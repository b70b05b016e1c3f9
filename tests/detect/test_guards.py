"""What a guard of the catalogue says that a detector finds, it finds."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax

from jaxbits import catalogue, detect
from jaxbits.detect.finding import Finding

x, table, far = jnp.arange(10.0), jnp.ones((5, 3)), jnp.int32(12)
kept: list = []
turns = iter([1.0, 2.0])


def keeps(value):
    kept.append(value * 2)
    return value


def prints(value):
    print(value)
    return value


def labels_outside(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def two_draws(key):
    return jax.random.normal(key, (2,)) + jax.random.uniform(key, (2,))


def constant_key(value):
    return value + jax.random.normal(jax.random.key(0))


lengths = {"calls": [(jnp.ones(n),) for n in (4, 4, 3)]}
containers = {"calls": [([x, x],), ((x, x),)]}

EXAMPLES = [
    ("value-needed-while-tracing", "control_flow", lambda v: v if v > 0 else -v, (1.0,), {}),
    ("value-needed-while-tracing", "dynamic_shape", lambda n: jnp.zeros(n), (3,), {}),
    ("side-effect-vanishes", "side_effect", prints, (1.0,), {}),
    ("side-effect-vanishes", "leak", keeps, (1.0,), {}),
    ("side-effect-vanishes", "iterator", lambda v: v + next(turns), (1.0,), {}),
    ("retrace-on-new-shape", "recompile", jax.jit(jnp.sin), (), lengths),
    ("out-of-bounds-read", "out_of_bounds", lambda a, i: a[i], (x, far), {}),
    ("take-fills", "out_of_bounds", lambda a, i: jnp.take(a, i), (x, far), {}),
    ("out-of-bounds-write", "out_of_bounds", lambda a, i: a.at[i].set(1.0), (x, far), {}),
    (
        "dynamic-slice-shifts",
        "out_of_bounds",
        lambda a, i: lax.dynamic_slice(a, (i,), (3,)),
        (x, jnp.int32(8)),
        {},
    ),
    (
        "gradient-of-a-missed-read",
        "out_of_bounds",
        jax.grad(lambda a, i: jnp.take(a, i)),
        (x, far),
        {},
    ),
    (
        "label-out-of-range",
        "out_of_bounds",
        labels_outside,
        (table, jnp.array([0, 1, 2, 0, -100])),
        {},
    ),
    (
        "embedding-out-of-range",
        "out_of_bounds",
        lambda t, i: jnp.take(t, i, axis=0),
        (table, far),
        {},
    ),
    (
        "segment-out-of-range",
        "out_of_bounds",
        lambda a, i: jax.ops.segment_sum(a, i, num_segments=3),
        (x, jnp.arange(10)),
        {},
    ),
    ("list-traced-index", "control_flow", lambda i: [1.0, 2.0][i], (jnp.int32(0),), {}),
    ("dict-traced-key", "control_flow", lambda i: {1: 2.0}[i], (jnp.int32(1),), {}),
    (
        "searchsorted-past-end",
        "out_of_bounds",
        lambda a, v: a[jnp.searchsorted(a, v)],
        (x, 99.0),
        {},
    ),
    (
        "unsigned-index-below-zero",
        "out_of_bounds",
        lambda a, i: a[i - np.uint8(1)],
        (x, jnp.uint8(0)),
        {},
    ),
    ("list-as-argument", "list_args", lambda ns: jnp.sum(jnp.array(ns)), ([1.0] * 50,), {}),
    (
        "list-to-array-slow",
        "list_args",
        lambda a: jnp.array([v / 2 for v in a]),
        (jnp.ones(100),),
        {},
    ),
    ("device-put-list", "list_args", jnp.stack, (jax.device_put([1.0] * 50),), {}),
    ("numpy-takes-over", "transfer", lambda a: a - np.median(a), (x,), {}),
    ("argument-not-an-array", "control_flow", lambda a, mode: a, (x, "train"), {}),
    ("one-key-for-two-draws", "key_reuse", two_draws, (jax.random.key(0),), {}),
    ("one-key-for-two-draws", "const_key", constant_key, (1.0,), {}),
    ("batch-list-or-tuple", "recompile", jax.jit(lambda batch: batch[0]), (), containers),
    ("short-last-batch", "recompile", jax.jit(jnp.sum), (), lengths),
]


@pytest.mark.parametrize(
    ("bit", "check", "fn", "args", "kwargs"), EXAMPLES, ids=[f"{b}-{c}" for b, c, *_ in EXAMPLES]
)
def test_the_detector_that_a_guard_names_finds_it(bit, check, fn, args, kwargs):
    found = getattr(detect, check)(fn, *args, **kwargs)
    assert [f for f in found if f.severity != "note"], bit
    assert f"`jaxbits.detect.{check}`" in catalogue.bit(bit).guard


def test_every_detector_that_a_guard_names_is_shown_above():
    named = {
        (bit.id, check)
        for bit in catalogue.load().values()
        for check in re.findall(r"`jaxbits\.detect\.(\w+)`", bit.guard)
    }
    assert named == {(bit, check) for bit, check, *_ in EXAMPLES}


@pytest.mark.parametrize(
    ("bit", "fn"),
    [
        ("out-of-bounds-read", lambda a, i: a[i]),
        ("take-fills", lambda a, i: jnp.take(a, i)),
        ("out-of-bounds-write", lambda a, i: a.at[i].set(1.0)),
        ("dynamic-slice-shifts", lambda a, i: lax.dynamic_slice(a, (i,), (3,))),
    ],
)
def test_a_finding_links_to_the_closest_section(bit, fn):
    (found,) = detect.out_of_bounds(fn, x, far)
    assert found.link == catalogue.bit(bit).link


def test_without_a_section_there_is_no_link():
    assert Finding("no_such_check", "error", "m", "e", "f").link == ""
    assert Finding("leak", "error", "m", "e", "f").link.endswith("then-no-more")
