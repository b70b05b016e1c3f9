"""Answers to the exercises of *Debugging*: foreseen mistakes, and other right ones."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify, io_callback
from jax.flatten_util import ravel_pytree


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


def from_one(step, state, batches):
    for number, batch in enumerate(batches, 1):
        out = state, _ = step(state, batch)
        if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(out)):
            return number
    return None


def minus_one(step, state, batches):
    found = by_raveling(step, state, batches)
    return -1 if found is None else found


def by_dtype(step, state, batches):
    for number, batch in enumerate(batches):
        out = state, _ = step(state, batch)
        floats = [leaf for leaf in jax.tree.leaves(out) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
        if not all(jnp.isfinite(leaf).all() for leaf in floats):
            return number
    return None


def last_one(step, state, batches):
    last = None
    for number, batch in enumerate(batches):
        out = state, _ = step(state, batch)
        if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(out)):
            last = number
    return last


def by_raveling(step, state, batches):
    for number, batch in enumerate(batches):
        out = state, _ = step(state, batch)
        if not jnp.isfinite(ravel_pytree(out)[0]).all():
            return number
    return None


def in_a_scan(step, state, batches):
    def body(state, batch):
        out = state, _ = step(state, batch)
        return state, jnp.array([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(out)]).all()

    fine = np.asarray(jax.lax.scan(body, state, jnp.stack(batches))[1])
    return None if fine.all() else np.argmin(fine)


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


def escaped(name, x):
    name = name.replace("{", "{{").replace("}", "}}")
    jax.debug.print(name + ": {} to {}", x.min(), x.max(), ordered=True)
    return x


def swapped(name, x):
    jax.debug.print("{}: {} to {}", name, x.max(), x.min(), ordered=True)
    return x


def along_rows(name, x):
    rows = jnp.sort(x, axis=0) if x.ndim == 1 else x
    low, high = (rows[0], rows[-1]) if x.ndim else (x, x)
    jax.debug.print("{}: {} to {}", name, low, high, ordered=True)
    return x


def by_float(name, x):
    jax.debug.print("{}: {} to {}", name, float(x.min()), float(x.max()), ordered=True)
    return x


def changed(name, x):
    jax.debug.print("{}: {} to {}", name, x.min(), x.max(), ordered=True)
    return 2 * x


def by_names(name, x):
    low, high = jnp.min(x), jnp.max(x)
    jax.debug.print("{name}: {low} to {high}", name=name, low=low, high=high, ordered=True)
    return x


def by_io_callback(name, x):
    io_callback(lambda y: print(f"{name}: {y.min()} to {y.max()}"), None, x, ordered=True)
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


def as_text(function, *args):
    error, value = jax.jit(checkify.checkify(function, errors=BOTH))(*args)
    return str(error), value


def jit_inside(function, *args):
    error, value = checkify.checkify(jax.jit(function), errors=BOTH)(*args)
    return error.get(), value


def caught(function, *args):
    """Throw the error, and return what it says."""
    error, value = jax.jit(checkify.checkify(function, errors=BOTH))(*args)
    try:
        checkify.check_error(error)
    except checkify.JaxRuntimeError as failed:
        return str(failed), value
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
        (by_the_loss, "the loss shows a bad state one step late"),
        (by_the_state, "step 4 returns a NaN as its loss"),
        (nan_only, "step 2 returns a state with an infinity, so the result must be 2, got None"),
        (the_state_that_came_in, "the loss shows a bad state one step late"),
        (the_same_state, "step 3 returns a state with a NaN, so the result must be 3, got None"),
        (from_one, "count the steps from 0"),
        (minus_one, "no step returns a NaN or an infinity, so the result must be None, got -1"),
        (
            by_dtype,
            "for a step that is not compiled and a state with Python numbers, your function "
            "raises AttributeError",
        ),
        (last_one, "step 3 returns a state with a NaN, so the result must be 3, got 5"),
        (first_elements, "the loss shows a bad state one step late"),
    ],
    "debugging/2": [
        (plainly, "print and f-strings run only while JAX traces"),
        (by_fstring, "print and f-strings run only while JAX traces"),
        (name_in_the_format, "for the name 'grad {w}', your function raises KeyError"),
        (unordered, "pass ordered=True"),
        (
            fixed_places,
            "under jit, for the array [[0.5, 1.25], [-0.25, 0.0]], the program prints 'w",
        ),
        (rounded, "'w: -0.2 to 1.2' instead of 'w: -0.25 to 1.25'"),
        (escaped, "pass the name as a value"),
        (
            swapped,
            "under jit, for the array [2.0, -1.0, 5.0], the program prints 'w: 5.0 to -1.0' "
            "instead of 'w: -1.0 to 5.0'",
        ),
        (
            along_rows,
            "under jit, for the array [[0.5, 1.25], [-0.25, 0.0]], the program prints 'w: [0.5  "
            "1.25] to [-0.25  0",
        ),
        (by_float, "raises ConcretizationTypeError"),
        (changed, "your function must return the array unchanged"),
        (
            lambda name, x: x,
            "under jit, for the array [2.0, -1.0, 5.0], the program prints nothing instead of "
            "'w: -1.0 to 5.0'",
        ),
        (nothing_returned, "the result must be the array, got None"),
    ],
    "debugging/3": [
        (
            with_errors(checkify.user_checks),
            "for price at -1, the message must contain 'nan', got None",
        ),
        (
            with_errors(checkify.float_checks),
            "for price at 200, the message must contain 'a price of 200', got None",
        ),
        (with_errors(BOTH, jit=lambda f: f), "the function is not compiled"),
        (
            with_errors(checkify.user_checks | checkify.nan_checks),
            "for inverse at 0, the message must contain 'division by zero', got None",
        ),
        (
            with_errors(checkify.user_checks & checkify.float_checks),
            "for price at 200, the message must contain 'a price of 200', got None",
        ),
        (lambda function, x: (None, jax.jit(function)(x)), "which was not functionalized"),
        (as_text, "for price at 1, the message must be None, got 'Error(None)'"),
        (
            lambda *args: with_errors(BOTH)(*args)[::-1],
            "the first result must be the message, error.get(), got Array(0., dtype=float32)",
        ),
        (
            lambda *args: list(with_errors(BOTH)(*args)),
            "your function must return a tuple of the message and the value, got [None, "
            "Array(0., dtype=float32)]",
        ),
        (
            thrown,
            "for price at 200, your function raises the error instead of returning the message, "
            "error.get()",
        ),
        (text_or_value, "return it even if a check fails"),
        (as_it_is, "your function returns the error itself; the message, or None, is error.get()"),
        (
            value_only,
            "your function must return a tuple of the message and the value, got Array(0., "
            "dtype=float32)",
        ),
    ],
}
RIGHT = [
    ("debugging/1", by_summing),
    ("debugging/1", by_raveling),
    ("debugging/1", in_a_scan),
    ("debugging/2", by_names),
    ("debugging/2", by_io_callback),
    ("debugging/3", jit_inside),
    ("debugging/3", caught),
    ("debugging/2", by_callback),
    ("debugging/3", with_errors(checkify.all_checks)),
]
