"""What a guard of the catalogue says that a detector finds, it finds."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax

from jaxbits import catalogue, detect
from jaxbits.detect.finding import Finding

v0 = jnp.float32(0)
x, table, far = jnp.arange(10.0), jnp.ones((5, 3)), jnp.int32(12)
CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"

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


def sum_of(start, values):
    return lax.scan(lambda c, v: (c + v, None), start, values)[0]


def sines(value):
    for turn in range(30):
        value = jnp.sin(value) + turn
    return value


def smoothed(values, decay):
    return lax.scan(lambda c, v: (decay * c + v, None), jnp.float32(0), values)[0]


def two_draws(key):
    return jax.random.normal(key, (2,)) + jax.random.uniform(key, (2,))


def constant_key(value):
    return value + jax.random.normal(jax.random.key(0))


def scaled(values, by):
    return values * by


def discards(value):
    value.at[0].set(1.0)
    return value


def assigns(value):
    value[0] = 1.0
    return value


def deletes(value):
    del value[0]


def changes(value):
    value -= value.mean()
    return value


def refills(buffer):
    first = jax.device_put(buffer)
    buffer[:] = 1
    return first


def donates_its_backup(value):
    backup = value[:]
    return jax.jit(lambda v: v + 1, donate_argnums=0)(value) + backup


donates_in_vain = jax.jit(lambda v: v.astype(jnp.bfloat16), donate_argnums=0)
pixels = jnp.zeros(3, jnp.uint8)

lengths = {"calls": [(jnp.ones(n),) for n in (4, 4, 3)]}
weak_then_strong = {"calls": [(1.0,), (jnp.float32(1.0),)]}
static_rate = jax.jit(lambda a, rate: a * rate, static_argnums=1)
rates = {"calls": [(x, 0.1), (x, 0.2)]}
same_nan = {"calls": [(x, float("nan")), (x, float("nan"))]}
containers = {"calls": [([x, x],), ((x, x),)]}

EXAMPLES = [
    ("value-needed-while-tracing", "control_flow", lambda v: v if v > 0 else -v, (1.0,), {}),
    ("value-needed-while-tracing", "dynamic_shape", lambda n: jnp.zeros(n), (3,), {}),
    ("side-effect-vanishes", "side_effect", prints, (1.0,), {}),
    ("side-effect-vanishes", "leak", keeps, (1.0,), {}),
    ("side-effect-vanishes", "iterator", lambda v: v + next(turns), (1.0,), {}),
    ("retrace-on-new-shape", "recompile", jax.jit(jnp.sin), (), lengths),
    ("item-assignment", "inplace", assigns, (x,), {}),
    ("print-while-hunting", "side_effect", prints, (x,), {}),
    ("update-discarded", "inplace", discards, (x,), {}),
    ("augmented-assignment-rebinds", "inplace", changes, (np.ones(3),), {}),
    ("host-buffer-shared", "inplace", refills, (np.zeros(16, np.float32),), {}),
    ("update-copies-all", "donation", donates_in_vain, (jnp.ones(3),), {}),
    ("float-into-int-update", "cast", lambda a: a.at[0].set(1.5), (jnp.arange(3),), {}),
    ("element-by-element", "transfer", lambda a: sum(float(a[i]) for i in range(3)), (x,), {}),
    ("delete-item", "inplace", deletes, (x,), {}),
    ("full-slice-is-no-copy", "donation", donates_its_backup, (jnp.ones(3),), {}),
    ("integer-wraps-in-update", "cast", lambda a: a.at[0].set(300), (pixels,), {}),
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
    ("tensor-integers-cut", "x64", lambda ids: jnp.asarray(ids) % 2, (np.array([2**40]),), {}),
    ("one-key-for-two-draws", "key_reuse", two_draws, (jax.random.key(0),), {}),
    ("one-key-for-two-draws", "const_key", constant_key, (1.0,), {}),
    ("batch-list-or-tuple", "recompile", jax.jit(lambda batch: batch[0]), (), containers),
    ("short-last-batch", "recompile", jax.jit(jnp.sum), (), lengths),
    ("boolean-mask-under-jit", "dynamic_shape", lambda a: a[a > 1].sum(), (x,), {}),
    ("value-dependent-size", "dynamic_shape", lambda a: jnp.unique(a), (x,), {}),
    ("traced-size", "dynamic_shape", lambda a, n: a[:n], (x, 2), {}),
    (
        "shape-through-jnp",
        "dynamic_shape",
        lambda a: a.reshape(jnp.prod(jnp.array(a.shape))),
        (table,),
        {},
    ),
    ("ragged-lengths", "recompile", jax.jit(jnp.sum), (), lengths),
    ("retrace-on-call-form", "recompile", jax.jit(jnp.sin), (), weak_then_strong),
    ("retrace-cause-unseen", "recompile", jax.jit(jnp.sin), (), weak_then_strong),
    ("static-value-recompiles", "recompile", static_rate, (), rates),
    ("static-nan", "recompile", static_rate, (), same_nan),
    ("static-almost-equal", "recompile", static_rate, (), rates),
    (
        "fresh-function-each-call",
        "recompile",
        lambda a: jax.jit(functools.partial(scaled, by=0.5))(a),
        (table,),
        {},
    ),
    (
        "mean-of-nothing-known",
        "nan",
        lambda a, known: jnp.mean(a, where=known),
        (x, jnp.zeros(10, bool)),
        {},
    ),
    (
        "construct-by-transformation",
        "control_flow",
        jax.vmap(lambda v: v if v > 0 else -v),
        (x,),
        {},
    ),
    ("python-logic-on-tracer", "control_flow", lambda v: 0 < v < 1, (0.5,), {}),
    ("range-of-tracer", "control_flow", lambda n: list(range(n)), (3,), {}),
    ("and-without-brackets", "control_flow", lambda v: v > 1 & v < 5, (6,), {}),
    ("item-cuts-gradient", "transfer", lambda v: v / v.std().item(), (x,), {}),
    ("carry-type-changes", "carry", sum_of, (jnp.int32(0), x), {}),
    ("cond-branch-types", "carry", lambda p: lax.cond(p, lambda: 1.0, lambda: 0), (True,), {}),
    ("cond-branch-trees", "carry", lambda p: lax.cond(p, lambda: x, lambda: None), (True,), {}),
    (
        "carry-changes-its-tree",
        "carry",
        lambda a: lax.scan(lambda c, v: ([*c], None), (v0, v0), a),
        (x,),
        {},
    ),
    ("python-loop-unrolled", "unrolled", sines, (1.0,), {}),
    ("loop-body-recompiles", "recompile", smoothed, (x, 0.1), {"calls": [(x, 0.2), (x, 0.3)]}),
]


@pytest.mark.parametrize(
    ("bit", "check", "fn", "args", "kwargs"), EXAMPLES, ids=[f"{b}-{c}" for b, c, *_ in EXAMPLES]
)
def test_the_detector_that_a_guard_names_finds_it(bit, check, fn, args, kwargs):
    found = getattr(detect, check)(fn, *args, **kwargs)
    assert [f for f in found if f.severity != "note"], bit
    assert f"`jaxbits.detect.{check}`" in catalogue.bit(bit).guard


def run_in(chapter):
    """Return the checks that the code cells of a chapter run."""
    text = (CHAPTERS / f"{chapter}.md").read_text("utf8")
    cells = re.findall(r"^```\{code-cell\}.*?^```", text, re.M | re.S)
    return {check for cell in cells for check in re.findall(r"\bdetect\.(\w+)", cell)}


def test_every_detector_that_a_guard_names_is_shown_above_or_in_the_chapter():
    shown = {(bit, check) for bit, check, *_ in EXAMPLES}
    ran = functools.cache(run_in)
    for bit in catalogue.load().values():
        named = set(re.findall(r"`jaxbits\.detect\.(\w+)`", bit.guard))
        missing = {check for check in named if (bit.id, check) not in shown} - ran(bit.chapter)
        assert not missing, bit.id
    assert shown <= {
        (bit.id, check)
        for bit in catalogue.load().values()
        for check in re.findall(r"`jaxbits\.detect\.(\w+)`", bit.guard)
    }


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
