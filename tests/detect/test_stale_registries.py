"""Test which globals that functions fill may be outdated in a compiled program."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import pytest
import registries

from jaxbits import detect


@pytest.mark.parametrize("function", [registries.apply_registered, registries.apply_divergence])
def test_stale_global_ignores_registries_that_decorators_fill(function):
    assert not detect.stale_global(function, jnp.ones(2))


def test_stale_global_finds_settings_that_a_call_changes():
    (found,) = detect.stale_global(registries.scale, jnp.ones(2))
    assert (found.severity, found.subject) == ("warning", "")
    assert "`settings`" in found.message


class Layer:
    def __init__(self):
        self.kind, self.scale = "relu", 2.0

    @functools.partial(jax.jit, static_argnums=0)
    def apply(self, x):
        return jnp.maximum(x, 0) * self.scale if self.kind == "relu" else x

    def change(self, kind):
        self.kind = kind


def test_stale_global_does_not_advise_to_make_attributes_of_static_self_static():
    found = detect.stale_global(Layer().apply, jnp.ones(2))
    assert [finding.severity for finding in found] == ["warning", "note"]
    assert all("because `self` is static" in finding.fix for finding in found)
    assert not any("static_argnames" in finding.fix for finding in found)
