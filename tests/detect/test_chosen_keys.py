"""Test that `key_reuse` warns about a key that is one of several, of which another one is used."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxbits import detect

normal, split = jax.random.normal, jax.random.split
KEYS = [jax.random.key(0), jax.random.PRNGKey(0)]

# Each function gets a key that has been split, one of its children, and a number. It returns
# numbers from one of the two keys, which the program chooses when it runs.
CHOICES = {
    "where": lambda key, one, x: normal(jnp.where(x > 0, key, one)),
    "cond": lambda key, one, x: normal(lax.cond(x > 0, lambda: key, lambda: one)),
    "index": lambda key, one, x: normal(jnp.stack([key, one])[jnp.argmax(jnp.array([x, 0.5]))]),
    "take": lambda key, one, x: normal(jnp.take(jnp.stack([key, one]), jnp.int32(x), axis=0)),
    "roll": lambda key, one, x: jax.vmap(normal)(jnp.roll(jnp.stack([key, one]), jnp.int32(x), 0)),
    "map": lambda key, one, x: lax.map(normal, jnp.stack([key, one])),
    "flip": lambda key, one, x: normal(jnp.flip(jnp.stack([key, one]), 0)[0]),
}


@pytest.mark.parametrize("key", KEYS, ids=["typed", "raw"])
@pytest.mark.parametrize("name", CHOICES)
def test_chosen_key_may_be_one_that_is_used_elsewhere(name, key) -> None:
    def fn(key, x):
        one, other = split(key)
        return CHOICES[name](key, one, x).sum() + normal(other)

    with pytest.warns(UserWarning, match="cannot tell which of several keys is used"):
        detect.key_reuse(fn, key, 1.0)


def reset(key, x):
    key, one = split(key)
    fresh, other = split(one)
    return normal(jnp.where(x > 0, fresh, key)) + normal(other)


def split_or_not(key, x):
    return normal(lax.cond(x > 0, lambda k: split(k)[0], lambda k: k, key))


def all_children(key, x):
    one, other = split(key)
    return jax.vmap(normal)(jnp.stack([one, other])).sum() * x


def library(key, x):
    one, two, three = split(key, 3)
    drawn = jax.random.gamma(one, 2.0) + jax.random.poisson(two, 3.0)
    return jax.random.choice(three, 5, (2,), replace=False) + drawn * x


def loop(key, x):
    def step(state):
        key, one = split(state[0])
        return key, state[1] + normal(one)

    return lax.while_loop(lambda state: state[1] < 1, step, (key, x))[1]


@pytest.mark.parametrize("key", KEYS, ids=["typed", "raw"])
@pytest.mark.parametrize("fn", [reset, split_or_not, all_children, library, loop])
def test_no_warning_if_each_possible_key_is_used_once(fn, key) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert detect.key_reuse(fn, key, 0.0) == []
