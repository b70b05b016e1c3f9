"""promotion, x64 and carry: on labelled cases, and what they do beside."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbits import _jax_compat, detect
from jaxbits._analysis.function_under_test import FunctionUnderTest


def test_promotion_says_where():
    found = detect.promotion(lambda x: x * np.float32(2), jnp.ones(2, jnp.float16))
    assert found[0].place.text.startswith("found = detect.promotion(")


def test_x64_is_quiet_with_x64():
    with _jax_compat.x64_on():
        assert not detect.x64(lambda x: jnp.asarray(x) + 1, np.array([2**40]))


def test_x64_puts_the_switch_back():
    detect.x64(lambda x: x + np.array([2**40]), jnp.arange(2))
    assert jnp.arange(2.0).dtype == jnp.float32


def test_carry_needs_a_state_in_an_audit():
    step, state = (lambda n: n * 0.5), jnp.int32(1)
    assert not detect.detectors()["carry"].on(FunctionUnderTest(step, (state,)))
    assert detect.detectors()["carry"].on(FunctionUnderTest(step, (state,), carry=0))


def test_carry_of_a_loop_needs_no_state():
    def total(x):
        return jax.lax.scan(lambda c, v: (c + v, None), jnp.int32(0), x)[0]

    found = detect.detectors()["carry"].on(FunctionUnderTest(total, (jnp.ones(3),)))
    assert found[0].severity == "error"


def test_carry_names_an_argument():
    with pytest.raises(ValueError, match="carry must be a position or one of 'x'; got 'state'"):
        detect.carry(lambda x: x, 1.0, carry="state")


def test_carry_says_whether_it_settles():
    settles = detect.carry(lambda n: n * 0.5, jnp.int32(1))
    grows = detect.carry(lambda x: jnp.concatenate([x, x]), jnp.ones(1))
    assert "at the first step" in settles[0].message
    assert "at every step" in grows[0].message


SORTS = {int: np.float64(1.0), float: np.float64(2**30 + 0.5)}


def test_a_global_whose_keys_have_no_order_is_looked_into():
    assert detect.x64(lambda x: x * jnp.asarray(SORTS[float]), jnp.ones(2))
