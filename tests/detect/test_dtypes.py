"""Test the findings, settings, and arguments of promotion, x64, and carry."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxbits import _jax_compat, detect
from jaxbits._analysis.function_under_test import FunctionUnderTest


def test_promotion_names_line():
    found = detect.promotion(lambda x: x * np.float32(2), jnp.ones(2, jnp.float16))
    assert found[0].place.text.startswith("found = detect.promotion(")


def test_x64_reports_nothing_if_x64_is_on():
    with _jax_compat.x64_on():
        assert not detect.x64(lambda x: jnp.asarray(x) + 1, np.array([2**40]))


def test_x64_restores_x64_setting():
    detect.x64(lambda x: x + np.array([2**40]), jnp.arange(2))
    assert jnp.arange(2.0).dtype == jnp.float32


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.astype(jnp.float64),
        lambda x: x.sum(dtype=jnp.float64),
        lambda x: x + jnp.zeros(2, "float64"),
        lambda x: jax.nn.one_hot(x.astype(int), 3, dtype=jnp.float64),
        lambda x: jax.vmap(lambda y: y.astype("float64"))(x),
    ],
)
def test_x64_names_line_that_requests_float64(function):
    (found,) = detect.x64(function, jnp.ones(2))
    assert found.severity == "warning"
    assert (found.place.file, found.place.line) == (__file__, function.__code__.co_firstlineno)


def test_x64_only_notes_dtypes_that_libraries_request():
    def convert(x):
        return optax.tree_utils.tree_cast(x, jnp.float64)

    (found,) = detect.x64(convert, jnp.ones(2))
    assert found.severity == "note"
    assert found.place.function.endswith("convert")


def test_x64_warns_about_dtype_that_no_line_of_user_code_requests():
    (found,) = detect.x64(functools.partial(jnp.ones_like, dtype=jnp.float64), jnp.ones(2))
    assert (found.severity, found.place) == ("warning", None)


def test_carry_skips_step_without_carry_argument():
    step, state = (lambda n: n * 0.5), jnp.int32(1)
    assert not detect.detectors()["carry"].on(FunctionUnderTest(step, (state,)))
    assert detect.detectors()["carry"].on(FunctionUnderTest(step, (state,), carry=0))


def test_carry_checks_scan_without_carry_argument():
    def total(x):
        return jax.lax.scan(lambda c, v: (c + v, None), jnp.int32(0), x)[0]

    found = detect.detectors()["carry"].on(FunctionUnderTest(total, (jnp.ones(3),)))
    assert found[0].severity == "error"


def test_carry_rejects_unknown_argument():
    with pytest.raises(ValueError, match="carry must be a position or one of 'x'; got 'state'"):
        detect.carry(lambda x: x, 1.0, carry="state")


def pull_after_speed(state):
    place, speed = state
    return place + speed, 0.9 * speed + jnp.float32(1)


def test_carry_says_at_which_of_two_steps_the_type_changes():
    settles = detect.carry(lambda n: n * 0.5, jnp.int32(1))
    grows = detect.carry(lambda x: jnp.concatenate([x, x]), jnp.ones(1))
    settles_later = detect.carry(pull_after_speed, (0.0, 0.0))
    assert "at the first step" in settles[0].message
    assert "at each of the first two steps" in grows[0].message
    assert "at each of the first two steps" in settles_later[0].message


VALUES_BY_TYPE = {int: np.float64(1.0), float: np.float64(2**30 + 0.5)}


def test_x64_searches_global_dict_with_unsortable_keys():
    assert detect.x64(lambda x: x * jnp.asarray(VALUES_BY_TYPE[float]), jnp.ones(2))


def widened_once(x):
    wide = x * np.float32(2)
    total = wide + x
    for _ in range(2):
        total = jax.jit(lambda v, x=x: jnp.sin(v) * x)(total)
    return total


def widened_twice(x):
    wide = x * np.float32(2)
    narrow = wide.astype(x.dtype) + x
    return narrow * np.float32(3)


def widened_in_scan(x):
    scale = x.sum() * np.float32(2)
    return jax.lax.scan(lambda carry, v: (carry, scale + v), 0, x)[1]


def widened_by_each_other(x):
    y = x * 2
    wide = (y * jnp.float16(1)) * x
    return wide + x


@pytest.mark.parametrize(
    ("function", "lines"),
    [
        (widened_by_each_other, [2]),
        (widened_once, [1]),
        (widened_twice, [1, 3]),
        (widened_in_scan, [1]),
    ],
)
def test_promotion_leaves_out_what_another_widening_causes(function, lines):
    first = function.__code__.co_firstlineno
    found = detect.promotion(function, jnp.ones(4, jnp.bfloat16))
    assert [finding.place.line - first for finding in found] == lines


def test_promotion_sees_widenings_inside_a_solver():
    def solve(b):
        return jax.lax.custom_linear_solve(
            lambda v: v * np.float32(2), b, lambda _, b: b.astype(jnp.float32)
        )

    assert detect.promotion(solve, jnp.ones(4, jnp.bfloat16))[0].severity == "warning"


def test_promotion_sees_widenings_inside_shard_map():
    mesh = jax.sharding.Mesh(jax.devices()[:1], "d")
    spec = jax.sharding.PartitionSpec("d")
    mapped = jax.shard_map(lambda x: x * np.float32(2), mesh=mesh, in_specs=spec, out_specs=spec)
    assert detect.promotion(mapped, jnp.ones(4, jnp.bfloat16))[0].severity == "warning"


def periodic_difference(difference, side):
    half = jnp.float32(0.5)
    return jnp.mod(difference + side * half, side) - half * side


def test_promotion_accepts_float32_scalars_in_a_float64_program():
    with _jax_compat.x64_on():
        assert not detect.promotion(periodic_difference, jnp.ones(8), jnp.float64(3))


def test_promotion_reports_a_float32_array_in_a_float64_program():
    with _jax_compat.x64_on():
        found = detect.promotion(lambda x: x * np.float64(2), jnp.ones(8, jnp.float32))
    assert [finding.severity for finding in found] == ["warning"]


def test_cast_names_the_line_of_an_update_that_rounds():
    def store(cache, values):
        cache = cache * 2
        return cache.at[:2].set(values)

    with _jax_compat.x64_on():
        found = detect.cast(store, jnp.zeros(4, jnp.float32), jnp.array([1 / 3, 0.5]))
    assert [finding.severity for finding in found] == ["warning"]
    assert found[0].evidence == "1 value, 0.333333"
    assert found[0].place.line == store.__code__.co_firstlineno + 2
