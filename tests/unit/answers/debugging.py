"""Answers to the exercises of *Debugging*: foreseen mistakes, and other right ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify


def by_the_loss(step, state, batches):
    for number, batch in enumerate(batches):
        state, loss = step(state, batch)
        if not jnp.isfinite(loss):
            return number
    return None


def by_the_state(step, state, batches):
    for number, batch in enumerate(batches):
        state, _ = step(state, batch)
        if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state)):
            return number
    return None


def nan_only(step, state, batches):
    for number, batch in enumerate(batches):
        state, loss = step(state, batch)
        if any(jnp.isnan(leaf).any() for leaf in jax.tree.leaves((state, loss))):
            return number
    return None


def the_state_that_came_in(step, state, batches):
    for number, batch in enumerate(batches):
        if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state)):
            return number
        state, loss = step(state, batch)
        if not jnp.isfinite(loss):
            return number
    return None


def the_same_state(step, state, batches):
    for number, batch in enumerate(batches):
        out = step(state, batch)
        if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(out)):
            return number
    return None


def first_elements(step, state, batches):
    for number, batch in enumerate(batches):
        out = state, _ = step(state, batch)
        if not all(jnp.isfinite(leaf).ravel()[0] for leaf in jax.tree.leaves(out)):
            return number
    return None


def by_summing(step, state, batches):
    for number, batch in enumerate(batches):
        out = state, _ = step(state, batch)
        total = sum(float(jnp.sum(leaf)) for leaf in jax.tree.leaves(out))
        if not np.isfinite(total):
            return number
    return None


def plainly(name, x):
    print(f"{name}: {x.min()} to {x.max()}")
    return x


def by_fstring(name, x):
    jax.debug.print(f"{name}: {x.min()} to {x.max()}", ordered=True)
    return x


def name_in_the_format(name, x):
    jax.debug.print(name + ": {} to {}", x.min(), x.max(), ordered=True)
    return x


def unordered(name, x):
    jax.debug.print("{}: {} to {}", name, x.min(), x.max())
    return x


def rounded(name, x):
    jax.debug.print("{}: {:.1f} to {:.1f}", name, x.min(), x.max(), ordered=True)
    return x


def fixed_places(name, x):
    jax.debug.print("{}: {} to {}", name, x.ravel()[1], x.ravel()[-1], ordered=True)
    return x


def nothing_returned(name, x):
    jax.debug.print("{}: {} to {}", name, x.min(), x.max(), ordered=True)


def by_callback(name, x):
    jax.debug.callback(
        lambda low, high: print(f"{name}: {low} to {high}"), x.min(), x.max(), ordered=True
    )
    return x


def with_errors(errors, jit=jax.jit):
    def run(function, *args):
        error, value = jit(checkify.checkify(function, errors=errors))(*args)
        return error.get(), value

    return run


BOTH = checkify.user_checks | checkify.float_checks


def thrown(function, *args):
    error, value = jax.jit(checkify.checkify(function, errors=BOTH))(*args)
    error.throw()
    return None, value


def text_or_value(function, *args):
    error, value = jax.jit(checkify.checkify(function, errors=BOTH))(*args)
    return (error.get(), None) if error.get() else (None, value)


def as_it_is(function, *args):
    return jax.jit(checkify.checkify(function, errors=BOTH))(*args)


def value_only(function, *args):
    return jax.jit(checkify.checkify(function, errors=BOTH))(*args)[1]


WRONG = {
    "debugging/1": [
        (by_the_loss, "the loss shows it a step later"),
        (by_the_state, "the loss of step 4 is NaN, and the state never is"),
        (nan_only, "is infinite"),
        (the_state_that_came_in, "the loss shows it a step later"),
        (the_same_state, "it says None, should be 3"),
        (first_elements, "the loss shows it a step later"),
    ],
    "debugging/2": [
        (plainly, "under jit"),
        (by_fstring, "under jit"),
        (name_in_the_format, "KeyError"),
        (unordered, "not ordered"),
        (fixed_places, "under jit"),
        (rounded, "should be ['w: -0.25 to 1.25']"),
        (nothing_returned, "it returns None"),
    ],
    "debugging/3": [
        (with_errors(checkify.user_checks), "should have 'nan' in it"),
        (with_errors(checkify.float_checks), "should have 'a price of 200' in it"),
        (with_errors(BOTH, jit=lambda f: f), "the function ran on numbers"),
        (thrown, "raises JaxRuntimeError"),
        (text_or_value, "the value is None"),
        (as_it_is, "error.get()"),
        (value_only, "it should return a pair"),
    ],
}
RIGHT = [
    ("debugging/1", by_summing),
    ("debugging/2", by_callback),
    ("debugging/3", with_errors(checkify.all_checks)),
]
