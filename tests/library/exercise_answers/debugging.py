"""Right and wrong answers to the exercises on debugging."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify, io_callback
from jax.flatten_util import ravel_pytree


def check_loss_only(step, state, batches):
    for number, batch in enumerate(batches):
        state, loss = step(state, batch)
        if not jnp.isfinite(loss):
            return number
    return None


def check_state_only(step, state, batches):
    for number, batch in enumerate(batches):
        state, _ = step(state, batch)
        if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state)):
            return number
    return None


def check_nan_only(step, state, batches):
    for number, batch in enumerate(batches):
        state, loss = step(state, batch)
        if any(jnp.isnan(leaf).any() for leaf in jax.tree.leaves((state, loss))):
            return number
    return None


def check_input_state(step, state, batches):
    for number, batch in enumerate(batches):
        if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(state)):
            return number
        state, loss = step(state, batch)
        if not jnp.isfinite(loss):
            return number
    return None


def never_update_state(step, state, batches):
    for number, batch in enumerate(batches):
        out = step(state, batch)
        if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(out)):
            return number
    return None


def count_from_1(step, state, batches):
    for number, batch in enumerate(batches, 1):
        out = state, _ = step(state, batch)
        if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(out)):
            return number
    return None


def return_minus_1(step, state, batches):
    found = ravel_leaves(step, state, batches)
    return -1 if found is None else found


def check_inexact_leaves(step, state, batches):
    for number, batch in enumerate(batches):
        out = state, _ = step(state, batch)
        floats = [leaf for leaf in jax.tree.leaves(out) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
        if not all(jnp.isfinite(leaf).all() for leaf in floats):
            return number
    return None


def return_last_bad_step(step, state, batches):
    last = None
    for number, batch in enumerate(batches):
        out = state, _ = step(state, batch)
        if not all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(out)):
            last = number
    return last


def ravel_leaves(step, state, batches):
    for number, batch in enumerate(batches):
        out = state, _ = step(state, batch)
        if not jnp.isfinite(ravel_pytree(out)[0]).all():
            return number
    return None


def scan_over_batches(step, state, batches):
    def body(state, batch):
        out = state, _ = step(state, batch)
        return state, jnp.array([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(out)]).all()

    fine = np.asarray(jax.lax.scan(body, state, jnp.stack(batches))[1])
    return None if fine.all() else np.argmin(fine)


def check_first_elements(step, state, batches):
    for number, batch in enumerate(batches):
        out = state, _ = step(state, batch)
        if not all(jnp.isfinite(leaf).ravel()[0] for leaf in jax.tree.leaves(out)):
            return number
    return None


def sum_leaves(step, state, batches):
    for number, batch in enumerate(batches):
        out = state, _ = step(state, batch)
        total = sum(float(jnp.sum(leaf)) for leaf in jax.tree.leaves(out))
        if not np.isfinite(total):
            return number
    return None


def use_python_print(name, x):
    print(f"{name}: {x.min()} to {x.max()}")
    return x


def use_fstring(name, x):
    jax.debug.print(f"{name}: {x.min()} to {x.max()}", ordered=True)
    return x


def concatenate_name(name, x):
    jax.debug.print(name + ": {} to {}", x.min(), x.max(), ordered=True)
    return x


def print_unordered(name, x):
    jax.debug.print("{}: {} to {}", name, x.min(), x.max())
    return x


def round_values(name, x):
    jax.debug.print("{}: {:.1f} to {:.1f}", name, x.min(), x.max(), ordered=True)
    return x


def print_fixed_indices(name, x):
    jax.debug.print("{}: {} to {}", name, x.ravel()[1], x.ravel()[-1], ordered=True)
    return x


def escape_braces(name, x):
    name = name.replace("{", "{{").replace("}", "}}")
    jax.debug.print(name + ": {} to {}", x.min(), x.max(), ordered=True)
    return x


def swap_min_and_max(name, x):
    jax.debug.print("{}: {} to {}", name, x.max(), x.min(), ordered=True)
    return x


def print_rows(name, x):
    rows = jnp.sort(x, axis=0) if x.ndim == 1 else x
    low, high = (rows[0], rows[-1]) if x.ndim else (x, x)
    jax.debug.print("{}: {} to {}", name, low, high, ordered=True)
    return x


def convert_to_float(name, x):
    jax.debug.print("{}: {} to {}", name, float(x.min()), float(x.max()), ordered=True)
    return x


def return_changed_array(name, x):
    jax.debug.print("{}: {} to {}", name, x.min(), x.max(), ordered=True)
    return 2 * x


def use_named_fields(name, x):
    low, high = jnp.min(x), jnp.max(x)
    jax.debug.print("{name}: {low} to {high}", name=name, low=low, high=high, ordered=True)
    return x


def use_io_callback(name, x):
    io_callback(lambda y: print(f"{name}: {y.min()} to {y.max()}"), None, x, ordered=True)
    return x


def return_nothing(name, x):
    jax.debug.print("{}: {} to {}", name, x.min(), x.max(), ordered=True)


def use_debug_callback(name, x):
    jax.debug.callback(
        lambda low, high: print(f"{name}: {low} to {high}"), x.min(), x.max(), ordered=True
    )
    return x


def checkify_with(errors, jit=jax.jit):
    def run(function, *args):
        error, value = jit(checkify.checkify(function, errors=errors))(*args)
        return error.get(), value

    return run


BOTH = checkify.user_checks | checkify.float_checks


def throw_error(function, *args):
    error, value = jax.jit(checkify.checkify(function, errors=BOTH))(*args)
    error.throw()
    return None, value


def return_error_as_string(function, *args):
    error, value = jax.jit(checkify.checkify(function, errors=BOTH))(*args)
    return str(error), value


def jit_before_checkify(function, *args):
    error, value = checkify.checkify(jax.jit(function), errors=BOTH)(*args)
    return error.get(), value


def catch_thrown_error(function, *args):
    """Raise the error with `check_error`, catch it, and return its message."""
    error, value = jax.jit(checkify.checkify(function, errors=BOTH))(*args)
    try:
        checkify.check_error(error)
    except checkify.JaxRuntimeError as failed:
        return str(failed), value
    return None, value


def drop_value_on_error(function, *args):
    error, value = jax.jit(checkify.checkify(function, errors=BOTH))(*args)
    return (error.get(), None) if error.get() else (None, value)


def return_error_object(function, *args):
    return jax.jit(checkify.checkify(function, errors=BOTH))(*args)


def return_value_only(function, *args):
    return jax.jit(checkify.checkify(function, errors=BOTH))(*args)[1]


WRONG = {
    "debugging/1": [
        (check_loss_only, "the loss shows a bad state one step late"),
        (check_state_only, "step 4 returns a NaN as its loss"),
        (
            check_nan_only,
            "step 2 returns a state with an infinity, so the result must be 2, got None",
        ),
        (check_input_state, "the loss shows a bad state one step late"),
        (
            never_update_state,
            "step 3 returns a state with a NaN, so the result must be 3, got None",
        ),
        (count_from_1, "count the steps from 0"),
        (
            return_minus_1,
            "no step returns a NaN or an infinity, so the result must be None, got -1",
        ),
        (
            check_inexact_leaves,
            "if the step is not compiled and the state contains Python numbers, your function "
            "raises AttributeError",
        ),
        (return_last_bad_step, "step 3 returns a state with a NaN, so the result must be 3, got 5"),
        (check_first_elements, "the loss shows a bad state one step late"),
    ],
    "debugging/2": [
        (use_python_print, "Python calls print and formats f-strings only while JAX traces"),
        (use_fstring, "Python calls print and formats f-strings only while JAX traces"),
        (concatenate_name, "for the name 'grad {w}', your function raises KeyError"),
        (print_unordered, "pass ordered=True"),
        (
            print_fixed_indices,
            "under jit, for the array [[0.5, 1.25], [-0.25, 0.0]], the program prints 'w",
        ),
        (round_values, "'w: -0.2 to 1.2' instead of 'w: -0.25 to 1.25'"),
        (escape_braces, "pass the name as a value"),
        (
            swap_min_and_max,
            "under jit, for the array [2.0, -1.0, 5.0], the program prints 'w: 5.0 to -1.0' "
            "instead of 'w: -1.0 to 5.0'",
        ),
        (
            print_rows,
            "under jit, for the array [[0.5, 1.25], [-0.25, 0.0]], the program prints 'w: [0.5  "
            "1.25] to [-0.25  0",
        ),
        (convert_to_float, "raises ConcretizationTypeError"),
        (return_changed_array, "your function must return the array unchanged"),
        (
            lambda name, x: x,
            "under jit, for the array [2.0, -1.0, 5.0], the program prints nothing instead of "
            "'w: -1.0 to 5.0'",
        ),
        (return_nothing, "your function must return the array, got None"),
    ],
    "debugging/3": [
        (
            checkify_with(checkify.user_checks),
            "for price at -1, the message must contain 'nan', got None",
        ),
        (
            checkify_with(checkify.float_checks),
            "for price at 200, the message must contain 'a price of 200', got None, because the "
            "set of checks that you passed replaced user_checks. Join the two sets with |",
        ),
        (
            checkify_with(checkify.div_checks),
            "the set of checks that you passed replaced user_checks",
        ),
        (
            checkify_with(checkify.index_checks),
            "the set of checks that you passed replaced user_checks",
        ),
        (checkify_with(BOTH, jit=lambda f: f), "the function is not compiled"),
        (
            checkify_with(checkify.user_checks | checkify.nan_checks),
            "for inverse at 0, the message must contain 'division by zero', got None",
        ),
        (
            checkify_with(checkify.user_checks & checkify.float_checks),
            "for price at 200, the message must contain 'a price of 200', got None",
        ),
        (lambda function, x: (None, jax.jit(function)(x)), "which was not functionalized"),
        (return_error_as_string, "for price at 1, the message must be None, got 'Error(None)'"),
        (
            lambda *args: checkify_with(BOTH)(*args)[::-1],
            "the first result must be the message, error.get(), got Array(0., dtype=float32)",
        ),
        (
            lambda *args: list(checkify_with(BOTH)(*args)),
            "your function must return a tuple of the message and the value, got [None, "
            "Array(0., dtype=float32)]",
        ),
        (
            throw_error,
            "for price at 200, your function raises the error instead of returning its message, "
            "error.get()",
        ),
        (drop_value_on_error, "return it even if a check fails"),
        (
            return_error_object,
            "your function returns the error itself; the message, or None, is error.get()",
        ),
        (
            return_value_only,
            "your function must return a tuple of the message and the value, got Array(0., "
            "dtype=float32)",
        ),
    ],
}
RIGHT = [
    ("debugging/1", sum_leaves),
    ("debugging/1", ravel_leaves),
    ("debugging/1", scan_over_batches),
    ("debugging/2", use_named_fields),
    ("debugging/2", use_io_callback),
    ("debugging/3", jit_before_checkify),
    ("debugging/3", catch_thrown_error),
    ("debugging/2", use_debug_callback),
    ("debugging/3", checkify_with(checkify.all_checks)),
]
