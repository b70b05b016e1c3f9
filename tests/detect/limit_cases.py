"""Labeled cases for the limits on the parts of an audit, written before the audit obeyed the rule.

The first argument of each case is the name of a limit in `jaxbits._analysis.inner_limits`, which
the test lowers to the value in `TINY`. The audit must then be `partial` in the positive cases. In
the negative cases, the limit does not cut any evidence. In all cases, the lower limit must not
lead to errors and warnings that a complete audit does not report.
"""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()
TINY = {
    "run_seconds": -1.0,
    "run_events": 3,
    "masking_seconds": -1.0,
    "gradient_seconds": -1.0,
    "loop_iterations": 3,
    "instrumented_equations": 3,
    "conversions": 1,
    "wide_values": 1,
}

X = jnp.arange(4.0)
LARGE = np.ones(5000, np.float32)
double = jax.jit(lambda x: 2 * x)
renew = jax.jit(lambda x: x + 1, donate_argnums=0)


# ------------------------------------------------------------ the eager run
@case("run_events", True, X)
@case("run_seconds", True, X)
def times_a_loop(x):
    start = time.perf_counter()
    for _ in range(5):
        x = double(x)
    jax.block_until_ready(x)
    return x, time.perf_counter() - start


@case("run_events", True, X)
@case("run_seconds", True, X)
def times_a_loop_without_waiting(x):
    start = time.perf_counter()
    for _ in range(5):
        x = double(x)
    return x, time.perf_counter() - start


@case("run_events", True, X)
def times_many_programs(x):
    start = time.perf_counter()
    for _ in range(1200):
        x = double(x)
    x.block_until_ready()
    return x, time.perf_counter() - start


@case("run_events", False, X)
@case("run_seconds", False, X)
@jax.jit
def prints_in_a_jitted_function(x):
    for _ in range(5):
        print(x)
    return x


@case("run_events", False, X)
@case("run_seconds", False, X)
def does_not_need_a_run(x):
    for _ in range(5):
        x = double(x)
    return x


@case("run_events", False, X)
def reads_once(x):
    return x / float(x.sum())


class Counter:
    def __init__(self):
        self.total = jnp.zeros(4)

    def __call__(self, x):
        for _ in range(5):
            self.total = renew(self.total)
        return x + self.total


add("run_events", True, Counter(), X)
add("run_seconds", True, Counter(), X)


@case("run_events", True, X)
def renews_a_variable(x):
    y = x * 2
    for _ in range(5):
        y = renew(y)
    return y


@case("run_events", True, X)
def uses_a_donated_array_at_the_end(x):
    y = x * 2
    z = y
    for _ in range(5):
        y = renew(y)
    return y + z


@case("run_events", False, X)
def renews_once(x):
    return renew(x * 2)


@case("run_events", True, LARGE)
@case("run_seconds", True, LARGE)
def moves_a_batch_at_the_end(batch):
    y = X
    for _ in range(5):
        y = double(y)
    return double(jnp.asarray(batch)).sum() + y


@case("run_events", True, X)
def reads_results_at_the_end(x):
    print("start")
    y = x
    for _ in range(5):
        y = double(y)
    return np.asarray(jax.device_get(y))


@case("run_events", True, X)
def returns_results_before_the_end(x):
    losses = jax.device_get(double(x))
    y = x
    for _ in range(5):
        y = double(y)
    return losses, y


@case("run_events", True, X, np.array(3, np.float32))
@case("run_seconds", True, X, np.array(3, np.float32))
# A NumPy scalar may stay a constant, as a Python number may, so the trace alone is enough.
@case("run_events", False, X, np.float32(3))
@case("run_seconds", False, X, np.float32(3))
def converts_a_numpy_number(x, rate):
    y = x
    for _ in range(5):
        y = double(y)
    return y * float(rate)


@case("run_events", True, X)
@case("run_seconds", True, X)
def branches_before_it_calls_a_jitted_function(x):
    for _ in range(5):
        x = jnp.sin(x) * 2 + 1
    print("warm")
    if x.sum() > 0:
        x = double(x)
    return x


@case("run_events", True, X)
@case("run_seconds", True, X)
def raises_after_a_while(x):
    for _ in range(5):
        x = double(x)
    if float(x.sum()) > 0:
        raise ValueError("x must be negative")
    return x


@case("run_events", True, X)
@case("run_seconds", True, X)
def fails_in_every_way(x):
    for _ in range(5):
        x = x + np.asarray(X)[1] * double(X)
    return jnp.no_such_function(x)


# ------------------------------------------------------------ whether bad values are masked
TABLE = jnp.arange(4.0)


@case("masking_seconds", True, jnp.array([1, 4]), jnp.array([2, 9]))
def reads_twice(used, masked):
    kept = jnp.where(masked < 4, TABLE[masked], 0.0)
    return TABLE[used].sum() + kept.sum()


@case("masking_seconds", False, jnp.array([1, 4]))
def reads_once_out_of_bounds(used):
    return TABLE[used].sum()


@case("masking_seconds", False, jnp.array([2, 9]), jnp.array([2, 8]))
def masks_both_reads(first, second):
    a = jnp.where(first < 4, TABLE[first], 0.0)
    return a + jnp.where(second < 4, TABLE[second], 0.0)


@case("masking_seconds", True, X)
def masks_one_of_two_nans(x):
    masked = jnp.where(x > 0, 0 / x, 0.0)
    return masked + jnp.log(x - 1)


@case("masking_seconds", False, X - 0.5)
def returns_one_nan(x):
    return jnp.log(x)


@case("loop_iterations", True, jnp.array([2, 9]))
def masks_a_read_before_a_long_loop(index):
    x = jnp.where(index < 4, TABLE[index], 0.0)
    return lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1]


@case("loop_iterations", True, jnp.array([2, 9]))
def reads_before_a_long_loop(index):
    x = TABLE[index]
    return lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1]


@case("loop_iterations", False, jnp.array([2, 9]))
def masks_a_read_before_a_short_loop(index):
    x = jnp.where(index < 4, TABLE[index], 0.0)
    return lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1]


@case("loop_iterations", False, jnp.array([2, 3]))
def runs_a_long_loop(index):
    x = TABLE[index]
    return lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1]


# ------------------------------------------------------------ other inputs for the gradient
@case("gradient_seconds", True, X + 1)
def has_a_root_of_a_shifted_number(x):
    return jnp.sqrt(x + 1000.0).sum()


@case("gradient_seconds", True, X + 1)
def has_a_trap_at_minus_one(x):
    return jnp.where(x > -1, jnp.sqrt(x + 1), 0.0).sum()


@case("gradient_seconds", False, X + 1)
def has_a_trap_at_zero(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0).sum()


@case("gradient_seconds", False, X + 1)
def has_a_smooth_gradient(x):
    return (x**2).sum()


@jax.jit
def logits(w, x):
    scores = x @ w
    return scores - jax.nn.logsumexp(scores, axis=1, keepdims=True)


# No gradient flows through the results of `argmax`, of comparisons, and of `stop_gradient`.
@case("gradient_seconds", False, jnp.eye(4), jnp.eye(4), jnp.arange(4))
def has_an_accuracy(w, x, labels):
    return jnp.mean(jnp.argmax(logits(w, x), axis=1) == labels)


@case("gradient_seconds", True, jnp.eye(4), jnp.eye(4), jnp.arange(4))
def has_an_accuracy_and_a_loss(w, x, labels):
    log_probabilities = logits(w, x)
    accuracy = jnp.mean(jnp.argmax(log_probabilities, axis=1) == labels)
    return -log_probabilities[jnp.arange(4), labels].mean(), accuracy


@case("gradient_seconds", False, jnp.eye(4), jnp.eye(4), jnp.arange(4))
def counts_unlikely_labels(w, x, labels):
    def count(total, pair):
        return total + (logits(w, pair[0][None])[0, pair[1]] < -2.0), None

    return lax.scan(count, 0, (x, labels))[0] / 4


@case("gradient_seconds", True, jnp.eye(4), jnp.eye(4), jnp.arange(4))
def sums_and_counts_unlikely_labels(w, x, labels):
    def add_up(state, pair):
        value = logits(w, pair[0][None])[0, pair[1]]
        return (state[0] - value, state[1] + (value < -2.0)), None

    return lax.scan(add_up, (0.0, 0), (x, labels))[0][0]


@jax.custom_jvp
def log_of_sum(x):
    return jnp.log(x.sum())


log_of_sum.defjvps(lambda tangent, answer, x: tangent.sum() / x.sum())


@case("gradient_seconds", False, X + 1)
def compares_a_custom_derivative(x):
    return jnp.where(log_of_sum(x) > 0, x, -x).sum()


@case("gradient_seconds", True, X + 1)
def returns_a_custom_derivative(x):
    return log_of_sum(x)


@case("gradient_seconds", False, X + 1)
def stops_the_gradient_of_a_root(x):
    return (x * lax.stop_gradient(jnp.sqrt(x).sum())).sum()


@case("gradient_seconds", True, X + 1)
def stops_the_gradient_of_one_factor(x):
    return (jnp.log(x + 1000.0) * lax.stop_gradient(x)).sum()


@case("gradient_seconds", False, X + 1)
def branches_on_a_root(x):
    return lax.cond(jnp.sqrt(x).sum() > 2, lambda x: x.sum(), lambda x: -x.sum(), x)


@case("gradient_seconds", True, X + 1)
def takes_a_root_in_a_branch(x):
    return lax.cond(x.sum() > 2, lambda x: jnp.sqrt(x + 1000.0).sum(), lambda x: -x.sum(), x)


# ------------------------------------------------------------ numbers of equations and values
@case("instrumented_equations", True, X, 7)
def reads_in_a_long_program(x, index):
    return jnp.sin(x[index]) + jnp.cos(x[index]) * 2


@case("instrumented_equations", False, X)
def has_two_equations(x):
    return jnp.sin(x) * 2


HALF = jnp.ones(4, jnp.bfloat16)


@case("conversions", True, X, HALF)
def widens_three_times(x, half):
    return (half * 2) * x + jnp.sin(half) * x + jnp.cos(half) * x


@case("conversions", False, X, HALF)
def widens_once(x, half):
    return half * x


@case("conversions", False, X)
def never_widens(x):
    return jnp.sin(x) * x


IDS = [np.int64(2**40), np.int64(2**41), np.int64(3)]
ONE = [np.int64(2**40), 3]


@case("wide_values", True, X)
def captures_several_wide_values(x):
    return x + sum(map(len, map(str, IDS)))


@case("wide_values", False, X)
def captures_one_wide_value(x):
    return x + sum(map(len, map(str, ONE)))
