"""Test the helpers that set a JAX switch temporarily and return the error that JAX recorded."""

import jax
import pytest

from jaxbits._jax_compat import config_values
from jaxbits.book.jax_switches import recorded_error, switched


def test_switched_restores_value_after_error():
    before = jax.config.jax_debug_nans
    with pytest.raises(KeyError), switched("jax_debug_nans", not before):
        raise KeyError
    assert jax.config.jax_debug_nans == before


def test_switched_changes_nothing_if_jax_lacks_switch():
    before = config_values()
    with switched("jax_of_tomorrow", True) as has_switch:
        assert not has_switch
        assert config_values() == before


def test_recorded_error_returns_each_error_once():
    with switched("jax_error_checking_behavior_oob", "raise"):
        _ = jax.numpy.arange(10.0)[jax.numpy.array([2, 11])]
        assert "Out of bounds" in recorded_error()
    assert recorded_error() is None
