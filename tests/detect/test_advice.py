"""Test that the fix of a finding works on the program that the finding is about."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from filtering import filter_jit

from jaxbits import audit, detect
from jaxbits._analysis.finding import merge_duplicates

WIDENED = {
    "int8": ("`x.astype(jnp.int32)`", jnp.int32),
    "uint8": ("`x.astype(jnp.int32)`", jnp.int32),
    "int16": ("`x.astype(jnp.int32)`", jnp.int32),
    "int32": ("`x.astype(jnp.float32)`", jnp.float32),
    "uint32": ("`x.astype(jnp.float32)`", jnp.float32),
}


@pytest.mark.parametrize("dtype", WIDENED)
def test_overflow_advises_dtype_that_holds_the_result(dtype):
    largest = jnp.asarray(jnp.iinfo(dtype).max, dtype)
    (found,) = detect.overflow(lambda x: x + x, largest)
    text, wider = WIDENED[dtype]
    assert text in found.fix
    assert not detect.overflow(lambda x: x.astype(wider) + x.astype(wider), largest)


def test_overflow_never_advises_to_widen_int32_to_int32():
    (found,) = detect.overflow(lambda x: x * x, jnp.int32(70_000))
    assert "jnp.int32" not in found.fix
    assert "jnp.int64" in found.fix


def test_overflow_advises_multiplication_in_place_of_shift():
    (found,) = detect.overflow(lambda x: x << 20, jnp.int32(70_000))
    assert "`x * 2.0**n`" in found.fix


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (lambda x: x.sum(dtype=jnp.int8), "`dtype=jnp.int32`"),
        (lambda x: jnp.cumsum(x, dtype="int8"), "`dtype=jnp.int32`"),
        (lambda x: x.astype(jnp.int8) + x.astype(jnp.int8), "`x.astype(jnp.int32)`"),
    ],
)
def test_overflow_advises_dtype_argument_if_the_call_passes_one(function, fix):
    found = detect.overflow(function, jnp.full(10, 100))
    assert [fix in finding.fix for finding in found] == [True]


def test_out_of_bounds_links_masked_write_to_writes():
    def function(x):
        return x.at[jnp.array([0, 9])].set(0.0) * 0.0

    (found,) = detect.out_of_bounds(function, jnp.ones(3))
    assert (found.severity, found.catalogue_id) == ("note", "out-of-bounds-write")


rate = 0.5
layers = 2
mode = "fast"
steps = [jnp.sin]


def change_settings():
    global rate, layers, mode, steps
    rate, layers, mode, steps = 0.1, 3, "slow", [jnp.cos]


def scaled(x):
    return x * rate


def stacked(x):
    return jnp.tile(x, layers)


def chosen(x):
    return x if mode == "fast" else -x


def stepped(x):
    for step in steps:
        x = step(x)
    return x


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (scaled, "pass `rate` as an argument"),
        (stacked, "pass `layers` as a static argument (`static_argnames`)"),
        (chosen, "pass `mode` as a static argument (`static_argnames`)"),
        (stepped, "pass what the function needs of `steps` as arguments"),
    ],
)
def test_stale_global_advises_what_jit_accepts(function, fix):
    (found,) = detect.stale_global(function, jnp.ones(2))
    assert found.fix.startswith(fix)


class Learner:
    def __init__(self):
        self._optimizer = optax.adam(0.1)

    def step(self, params, state, batch):
        grads = jax.grad(lambda p: jnp.mean((batch @ p["w"] + p["b"]) ** 2))(params)
        updates, state = self._optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state


class State(NamedTuple):
    params: Any
    opt_state: Any


def test_audit_of_train_step_gives_no_advice_about_optimizer():
    params = {"w": jnp.zeros(32), "b": jnp.zeros(())}
    learner = Learner()
    opt_state = learner._optimizer.init(params)
    report = audit(learner.step, params, opt_state, np.ones((64, 32), np.float32))
    assert report.ok, str(report)
    assert "optimizer" not in str(report)
    assert not report["nan"]
    (note,) = report["transfer"]
    assert note.severity == "note"
    assert "every call" not in note.message


def test_transfer_says_that_state_is_sent_only_once():
    @jax.jit
    def step(state, batch):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((batch @ p["w"]) ** 2))(state.params)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, state.params, grads)
        return State(params, state.opt_state + 1), loss

    state = State({"w": np.ones((64, 64), np.float32)}, jnp.int32(0))
    kinds = {f.message for f in detect.transfer(step, state, np.ones((64, 64), np.float32))}
    assert kinds == {
        "a NumPy array is sent to the device, as any new batch has to be",
        "a state that starts as NumPy arrays is sent to the device in the first call",
    }


def test_carry_gives_no_advice_to_change_the_state_of_an_optimizer():
    params = {"w": jnp.ones(2, jnp.bfloat16)}
    adam = optax.adam(0.1)

    def step(state, grads):
        params, opt_state = state
        updates, opt_state = adam.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    grads = {"w": jnp.ones(2, jnp.float32)}
    (found,) = detect.carry(step, (params, adam.init(params)), grads)
    assert "dtype_stable" in found.fix
    assert "astype" not in found.fix
    cast = jax.tree.map(lambda g: g.astype(jnp.bfloat16), grads)
    assert not detect.carry(step, (params, adam.init(params)), cast)


def test_carry_gives_its_own_advice_for_the_rest_of_the_state():
    (found,) = detect.carry(lambda s, x: {"n": s["n"] + x}, {"n": jnp.int32(0)}, jnp.float32(1))
    assert "astype" in found.fix


def test_control_flow_advises_static_argument_only_for_a_number():
    def signed(x):
        return x if x > 0 else -x

    (of_number,) = detect.control_flow(signed, 2.0)
    (of_array,) = detect.control_flow(signed, jnp.float32(2.0))
    assert "static_argnames='x'" in of_number.fix
    assert "static_argnames" not in of_array.fix
    assert jax.jit(signed, static_argnames="x")(2.0) == 2.0
    with pytest.raises(ValueError, match="hash"):
        jax.jit(signed, static_argnames="x")(jnp.float32(2.0))


def test_constant_key_is_reported_where_it_is_made():
    def initialize(x):
        key = jax.random.PRNGKey(0)
        first, second = jax.random.split(key)
        return x + jax.random.normal(first) + jax.random.normal(second)

    (found,) = detect.const_key(initialize, 1.0)
    assert found.place.text == "key = jax.random.PRNGKey(0)"


def test_weak_optimizer_state_names_the_weak_argument():
    optimizer = optax.adam(1e-2)

    def update(weight, state):
        updates, state = optimizer.update(jax.grad(jnp.square)(weight), state)
        return weight + updates, state

    (found,) = detect.carry(update, 1.0, optimizer.init(1.0), carry=1)
    assert "Python number among the other arguments" in found.fix
    assert not detect.carry(update, jnp.float32(1), optimizer.init(jnp.float32(1)), carry=1)


def test_consequences_of_a_reused_key_are_not_reported():
    def noise(key):
        def add(i, total):
            first, second = jax.random.split(jax.random.split(key)[1])
            return total + jax.random.normal(first) + jax.random.normal(second)

        return jax.lax.fori_loop(0, 3, add, 0.0)

    (found,) = detect.key_reuse(noise, jax.random.key(0))
    assert "jax.random.split(jax.random.split(key)[1])" in found.place.text
    assert "fold_in" in found.fix


def test_two_reused_keys_are_both_reported():
    def noise(key):
        first, second = jax.random.split(key)
        total = jax.random.normal(first) + jax.random.uniform(first)
        return total + jax.random.normal(second) + jax.random.uniform(second)

    assert len(detect.key_reuse(noise, jax.random.key(0))) == 2


def test_x64_names_an_array_in_a_keyword_argument():
    @jax.jit
    def total(*, data):
        return data[0].sum()

    (found,) = detect.x64(total, data=(np.array([0.1, 0.7]),))
    assert found.message.startswith("data[0] (float64)")


def test_read_out_of_bounds_in_a_gradient_is_a_read():
    @jax.jit
    def step(weights, index):
        return weights - 0.1 * jax.grad(lambda w: w[index] ** 2)(weights)

    (found,) = merge_duplicates(detect.out_of_bounds(step, jnp.ones(3), 7))
    assert found.message == "read out of bounds: the start is moved"
    assert found.also == ("read out of bounds: its gradient is dropped or goes to another element",)


def test_control_flow_names_only_parameters_of_the_function():
    @filter_jit
    def step(scale, x):
        return x if x.sum() > 0 else -scale(x)

    (found,) = detect.control_flow(step, lambda x: 2 * x, jnp.ones(3))
    assert "argument" not in found.evidence or found.evidence.endswith("argument x")


def test_big_range_is_made_in_the_function():
    size = 100_000
    (found,) = detect.big_const(lambda x: x + np.arange(size), jnp.ones(size, int))
    assert "jnp.arange" in found.fix
    assert not detect.big_const(lambda x: x + jnp.arange(size), jnp.ones(size, int))
    table = np.random.default_rng(0).normal(size=size).astype(np.float32)
    (found,) = detect.big_const(lambda x: x + table, jnp.ones(size))
    assert found.fix == "pass it as an argument"


def count_presses(counts, keys):
    return counts.at[keys].set(counts[keys] + 1)


def halve_hit(energy, ids):
    return energy.at[ids].set(energy[ids] * 0.5)


def keep_best(best, ids, scores):
    return best.at[ids].set(jnp.maximum(best[ids], scores))


def write_valid(table, ids, is_valid):
    return table.at[ids].set(jnp.where(is_valid, 7.0, table[ids]))


X, TWICE, DIFFERENT = jnp.ones(3), jnp.array([0, 2, 2]), jnp.array([3.0, 5.0, 4.0])
VALID = jnp.array([True, True, False])


@pytest.mark.parametrize(
    ("function", "args", "level", "fix", "fixed"),
    [
        (
            count_presses,
            (X, TWICE),
            "error",
            "`counts.at[keys].add(1)`, which applies every update",
            lambda counts, keys: counts.at[keys].add(1),
        ),
        (
            halve_hit,
            (X, TWICE),
            "error",
            "`energy.at[ids].multiply(0.5)`, which applies every update",
            lambda energy, ids: energy.at[ids].multiply(0.5),
        ),
        (
            keep_best,
            (X, TWICE, DIFFERENT),
            "warning",
            "`best.at[ids].max(…)`, which applies every update",
            lambda best, ids, scores: best.at[ids].max(scores),
        ),
        (
            write_valid,
            (X, TWICE, VALID),
            "warning",
            "give the rows to skip an index outside the array, `jnp.where(mask, ids, n)`, and "
            "write with `mode='drop'`",
            lambda t, ids, mask: t.at[jnp.where(mask, ids, 3)].set(7.0, mode="drop"),
        ),
    ],
)
def test_duplicate_indices_advises_an_update_that_is_clean(function, args, level, fix, fixed):
    (found,) = detect.duplicate_indices(function, *args)
    assert (found.severity, found.fix) == (level, fix)
    assert found.place.line == function.__code__.co_firstlineno + 1
    assert detect.duplicate_indices(fixed, *args) == []


@pytest.mark.parametrize(
    ("step", "fixed", "start", "advice"),
    [
        (
            lambda s: s + 1.0,
            lambda s: s + 1,
            "jnp.float32(0)",
            "use a Python number of the same kind (`+ 1`, not `+ 1.0`), or start with a strong "
            "type of the final dtype, such as `jnp.float32(0)`",
        ),
        (
            lambda s: s + jnp.ones(3).sum(),
            None,
            "jnp.float32(0)",
            "start with a strong type of the final dtype, such as `jnp.float32(0)`, instead of a "
            "number",
        ),
    ],
)
def test_carry_advises_no_cast_to_the_dtype_of_a_python_number(step, fixed, start, advice):
    (found,) = detect.carry(jax.jit(step), 1, carry=0)
    assert found.fix == advice
    assert start in advice
    assert not detect.carry(jax.jit(step), jnp.float32(1), carry=0)
    assert fixed is None or not detect.carry(jax.jit(fixed), 1, carry=0)


@pytest.mark.parametrize("number", [0, 0.0, 0j])
def test_carry_advises_a_strong_type_of_the_same_dtype(number):
    dtype = jnp.asarray(number).dtype
    (found,) = detect.carry(jax.jit(lambda s: s + jnp.ones((), dtype)), number, carry=0)
    assert found.fix.startswith(f"start with a strong type: `jnp.{dtype}(0)`")
    assert not detect.carry(jax.jit(lambda s: s + jnp.ones((), dtype)), dtype.type(0), carry=0)


def test_carry_advises_a_cast_if_only_the_new_type_is_weak():
    start = jnp.float32(0)
    (found,) = detect.carry(lambda s: jnp.where(s > 0, 1.0, 0.0), start, carry=0)
    assert found.fix.startswith("`.astype(old.dtype)` on the new value")
    cast = jax.jit(lambda s: jnp.where(s > 0, 1.0, 0.0).astype(s.dtype))
    assert not detect.carry(cast, start, carry=0)


def test_carry_advises_a_cast_if_the_old_dtype_is_strong():
    (found,) = detect.carry(lambda s: (s[0] + 1.0, s[1] + 1.0), (1, jnp.int32(1)), carry=0)
    assert found.fix.startswith("`.astype(old.dtype)` on the new value")


class Kept:
    last: Any = None


kept: list[Any] = []
passes = 0
total = 0.0


def keep(x):
    kept.append(x * 2)
    return x


def keep_in_class(x):
    Kept.last = x * 2
    return x


def keep_and_count(x):
    global passes
    kept.append(x * 2); passes += 1  # fmt: skip # noqa: E702
    return x


def count_passes(x):
    global passes
    passes += 1
    return x * passes


def add_up(x):
    global total
    total = total + x.sum()
    return x


def read_then_count(x):
    global passes
    y = x * passes
    passes = passes + 1
    return y


@pytest.mark.parametrize(
    ("function", "checks", "fix"),
    [
        (keep, ["leak"], "return it (`has_aux=True`"),
        (keep_in_class, ["leak"], "return it (`has_aux=True`"),
        (keep_and_count, ["leak", "side_effect"], "return it (`has_aux=True`"),
        (count_passes, ["side_effect"], "pass `passes` as an argument, and return the new value"),
        (add_up, ["leak"], "pass `total` as an argument, and return it (`has_aux=True`"),
        (read_then_count, ["side_effect", "stale_global"], "return the new value"),
    ],
)
def test_audit_reports_one_statement_with_python_state_once(function, checks, fix):
    report = audit(jax.jit(function), jnp.ones(3), checks=["leak", "side_effect", "stale_global"])
    assert [finding.check for finding in report] == checks
    assert next(iter(report)).fix.startswith(fix)
    if len(checks) == 1 and function in (count_passes, add_up):
        assert "is baked into the compiled program" in next(iter(report)).also[0]


def test_each_check_of_python_state_still_finds_the_statement_alone():
    for check in ("leak", "side_effect", "stale_global"):
        assert detect.detectors()[check](jax.jit(add_up), jnp.ones(3)), check


def take_default(x, i):
    return jnp.take(x, i)


def take_logarithm(x, i):
    return jnp.log(jnp.take(x, i) - 2.0)


def take_two_problems(x, i):
    return jnp.take(x, i) + jnp.log(x[0] - 2.0)


def take_with_mode(x, i):
    return x.at[i].get(mode="fill")


@pytest.mark.parametrize(
    ("function", "checks"),
    [
        (take_default, ["out_of_bounds"]),
        (take_logarithm, ["nan", "out_of_bounds"]),
        (take_two_problems, ["nan", "out_of_bounds"]),
        (take_with_mode, ["nan"]),
    ],
)
def test_audit_reports_a_filled_read_once(function, checks):
    x, i = jnp.ones(3), jnp.array([0, 3])
    report = audit(jax.jit(function), x, i, checks=["nan", "out_of_bounds"])
    assert sorted(finding.check for finding in report) == checks
    found = report["nan"]
    if function is take_with_mode:
        assert found[0].fix.startswith("correct the index")
    elif found:
        assert "arises in log" in found[0].message


def test_nan_advises_to_correct_the_index_of_a_filled_read():
    (found,) = detect.nan(take_default, jnp.ones(3), jnp.array([0, 3]))
    assert found.fix == "correct the index, which is out of bounds, or pass a `fill_value`"
    filled = lambda x, i: jnp.take(x, i, fill_value=0.0)  # noqa: E731
    assert not detect.nan(filled, jnp.ones(3), jnp.array([0, 3]))


def test_nan_advises_on_the_epsilon_of_an_optimizer_in_float16():
    adam, gradient = optax.adam(1e-3), jnp.array([0.0, 1e-4], jnp.float16)

    def first_updates(gradient):
        return adam.update(gradient, adam.init(gradient))[0]

    (found,) = detect.nan(first_updates, gradient)
    assert "eps=1e-4" in found.fix
    assert found.catalogue_id == "adam-float16-eps"


@pytest.mark.parametrize(
    ("parents", "severity"), [([-1, 0, 1], "note"), ([-2, 0, 1], "error"), ([3, 0, 1], "error")]
)
def test_out_of_bounds_accepts_only_segment_minus_one(parents, severity):
    def push(forces, parents):
        return forces - jax.ops.segment_sum(forces, parents, 3)

    arguments = jnp.ones((3, 2)), jnp.array(parents)
    (found,) = detect.out_of_bounds(push, *arguments)
    assert found.severity == severity
    assert found.place.line == push.__code__.co_firstlineno + 1
    assert "counted from the end" not in found.evidence

    def push_existing(forces, parents):
        return forces - jax.ops.segment_sum(forces, parents, 3, mode="drop")

    assert detect.out_of_bounds(push_existing, *arguments) == []


def loses_product(x):
    x.at[0].multiply(0.9)
    return x + 1


def loses_function(x):
    x.at[0].apply(jnp.sin)
    return x + 1


def loses_value(x):
    x.at[0].set(0.9)
    return x + 1


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (loses_product, "`x = x.at[i].multiply(v)`"),
        (loses_function, "`x = x.at[i].apply(f)`"),
        (loses_value, "`x = x.at[i].set(v)`"),
    ],
)
def test_inplace_names_method_of_discarded_update(function, fix) -> None:
    (found,) = detect.inplace(function, jnp.ones(3))
    assert found.fix == fix


def reads_index(x):
    return x[0] + x[34]


def reads_index_in_jit(x):
    return jax.jit(reads_index)(x)


def reads_window(x):
    return jax.lax.dynamic_slice(x, (33,), (4,)).sum()


def reads_window_in_jit(x):
    return jax.jit(reads_window)(x)


@pytest.mark.parametrize("transform", [jax.grad, jax.value_and_grad])
@pytest.mark.parametrize("function", [reads_index, reads_index_in_jit])
def test_out_of_bounds_calls_gradient_of_index_a_read(transform, function) -> None:
    errors = [
        f for f in detect.out_of_bounds(transform(function), jnp.ones(34)) if f.severity == "error"
    ]
    assert errors
    for found in errors:
        assert found.message.startswith("read out of bounds")
        assert "start" not in found.fix
        assert found.catalogue_id == "out-of-bounds-read"


@pytest.mark.parametrize("function", [reads_window, reads_window_in_jit])
def test_out_of_bounds_advises_on_window_of_gradient(function) -> None:
    errors = [
        f for f in detect.out_of_bounds(jax.grad(function), jnp.ones(34)) if f.severity == "error"
    ]
    assert errors
    for found in errors:
        assert found.message.startswith("read out of bounds")
        assert found.catalogue_id == "dynamic-slice-shifts"


@pytest.mark.parametrize("transform", [jax.jit, jax.checkpoint])
def test_out_of_bounds_calls_write_under_gradient_a_write(transform) -> None:
    @transform
    def write(x):
        return jnp.sum(jnp.sin(jax.lax.dynamic_update_slice(x, 2 * x[:2], (33,))))

    found = detect.out_of_bounds(jax.grad(write), jnp.ones(34))
    assert "write out of bounds: the start is moved" in {finding.message for finding in found}
