"""Labeled cases for stale_global, written before the detector ran on them."""

from __future__ import annotations

import dataclasses
import functools
import os
import statistics
import types

import jax
import jax.numpy as jnp
import numpy as np
from labelled_cases import registry

CASES, case, add = registry()


X = jnp.arange(10.0)


# ------------------------------------------------------------ stale_global
scale = 2.0


def set_scale(v):
    global scale
    scale = v


settings = {"lr": 0.1, "name": "sgd"}
weights = [1.0, 2.0]
mask = np.array([1.0, 0.0] * 5)
unused = {"a": 1.0}
verbose = False
gain = 1.5
_config = types.SimpleNamespace(depth=2, nested=types.SimpleNamespace(rate=0.5))


class Schedule:
    factor = 3.0

    def __init__(self):
        self.rate = 0.1

    def apply(self, x):
        return x * self.rate

    def __call__(self, x):
        return x - self.rate


@dataclasses.dataclass(frozen=True)
class Frozen:
    rate: float = 0.1


frozen = Frozen()
schedule = Schedule()


def helper(x):
    return x * scale


add("stale_global", True, lambda x: x * scale, X)
add("stale_global", True, lambda x: helper(x) + 1, X)
add("stale_global", True, lambda x: x * settings["lr"], X)
add("stale_global", True, lambda x: x * sum(weights), X)
add("stale_global", False, jax.jit(lambda x: jnp.where(mask > 0, x, 0)), X)
add("stale_global", True, Schedule().apply, X)
add("stale_global", True, Schedule(), X)
add("stale_global", True, lambda x: schedule.apply(x), X)
add("stale_global", True, lambda x: x * _config.nested.rate, X)
add("stale_global", True, lambda x: x * float(os.environ.get("OWN_SCALE", "1")), X)


def _turned():
    k = 1.0

    def turn():
        nonlocal k
        k += 1

    def f(x):
        return x * k

    f.turn = turn
    return f


add("stale_global", True, _turned(), X)


@case("stale_global", True, X)
def own_stale_class_attribute(x):
    return x * Schedule.factor


Schedule.factor = 4.0


@case("stale_global", False, X)
def own_fresh_constant(x):
    return x * gain


add("stale_global", False, lambda x, s: x * s, X, scale)
add("stale_global", False, lambda x: x * np.pi, X)
add("stale_global", False, lambda x: x * frozen.rate, X)


def _fixed(k):
    return lambda x: x * k


add("stale_global", False, _fixed(3.0), X)


@case("stale_global", False, X)
def own_fresh_local(x):
    settings = {"lr": 0.3}
    return x * settings["lr"]


@case("stale_global", False, X)
def own_fresh_irrelevant(x):
    unused.get("a")
    return x


add("stale_global", False, functools.partial(lambda c, x: x * c, 2.0), X)
add("stale_global", False, jax.jit(lambda x: jax.nn.gelu(x)), X)


@case("stale_global", False, X)
def own_fresh_shadow(x):
    scale = x.mean()
    return x * scale


@case("stale_global", False, X)
def own_fresh_default(x, rate=0.5):
    return x * rate


# State that only a `functools.partial` passes to the function.
class Rates:
    def __init__(self, rate):
        self.rate = rate
        self.fixed = 2.0


class Pace:
    def __init__(self, pace):
        self.pace = pace


def paced_by(pace, x):
    return x * pace.pace


def scaled_by(rates, x):
    return x * rates.rate


def scaled_by_fixed(rates, x):
    return x * rates.fixed


def weighted_by(options, x):
    return x * options["weight"]


def summed_with(parts, x, scale=1.0):
    return x * scale + sum(parts)


rates = Rates(0.1)
bound_rates = functools.partial(scaled_by, rates)
options = {"weight": 0.5}
parts = [1.0, 2.0]
shown = {"weight": 2.0, "shown": False}
steady = Rates(0.3)


def decay():
    rates.rate *= 0.5
    options["weight"] *= 0.5
    parts.append(1.0)


add("stale_global", True, functools.partial(scaled_by, rates), X)
add("stale_global", True, lambda x: bound_rates(x) + 1, X)
add("stale_global", True, jax.jit(functools.partial(scaled_by, rates=rates)), x=X)
add("stale_global", True, functools.partial(weighted_by, options), X)
add("stale_global", True, functools.partial(summed_with, parts, scale=2.0), X)
add("stale_global", True, jax.jit(functools.partial(functools.partial(weighted_by, options))), X)
add("stale_global", False, functools.partial(scaled_by_fixed, steady), X)
add("stale_global", False, functools.partial(weighted_by, {"weight": 0.5}), X)
add("stale_global", False, functools.partial(weighted_by, dict(shown)), X)
add("stale_global", False, functools.partial(summed_with, (1.0, 2.0), scale=2.0), X)
add("stale_global", False, functools.partial(paced_by, Pace(0.1)), X)
add("stale_global", False, functools.partial(lambda o, x: x, options), X)


# ------------------------------------------------------------ objects of a library's class
prior = statistics.NormalDist(0.0, 2.0)
window = statistics.NormalDist(0.0, 3.0)
curve = np.polynomial.Polynomial([1.0, 2.0])
started_at = 1.7955e9
stamps = np.full(10, 1.7955e9)
rebound_curve = np.polynomial.Polynomial([1.0, 2.0])
holder = types.SimpleNamespace(scale=2.0)


@case("stale_global", False, X)
def object_bound_once(x):
    return x / prior.stdev


@case("stale_global", False, X)
def method_of_object_bound_once(x):
    return x * curve(2.0)


@case("stale_global", False, X)
def jitted_with_object_bound_once(x):
    return jax.jit(lambda y: y * window.variance)(x)


@case("stale_global", True, X)
def object_bound_twice(x):
    return x * rebound_curve(2.0)


@case("stale_global", True, X)
def attribute_holder(x):
    return x * holder.scale


@case("stale_global", True, X)
def large_number(x):
    return x - started_at


@case("stale_global", True, X)
def array_of_large_numbers(x):
    return x - stamps


rebound_curve = np.polynomial.Polynomial([3.0, 4.0])
started_at = 1.7956e9
stamps = np.full(10, 1.7956e9)


# ------------------------------------------------------------ NumPy arrays that are bound once
centers = np.linspace(-4.0, 4.0, 10)
inputs, targets = np.zeros(10, np.float32), np.arange(10.0)
refilled = np.zeros(10, np.float32)
accumulated = np.zeros(10, np.float32)
scaled_in_place = np.ones(10, np.float32)
written_by_index = np.arange(10)
filled_by_helper = np.zeros(10, np.float32)


def load(batch):
    refilled[:] = batch
    np.add(accumulated, batch, out=accumulated)
    written_by_index[0] = 9
    _fill(filled_by_helper, batch)


def _fill(buffer, batch):
    buffer[:] = batch


@case("stale_global", False, X)
def array_bound_once(x):
    return -jnp.sum((x - centers) ** 2)


@case("stale_global", False, 0.5)
def arrays_bound_in_one_line(w):
    return jnp.mean((w * inputs - targets) ** 2)


@case("stale_global", True, X)
def array_refilled(x):
    return x + refilled


@case("stale_global", True, X)
def array_with_out_argument(x):
    return x + accumulated


@case("stale_global", True, X)
def array_scaled_in_place(x):
    return x * scaled_in_place


@case("stale_global", True, X)
def array_written_by_index(x):
    return x[written_by_index]


@case("stale_global", True, X)
def array_filled_by_helper(x):
    return x + filled_by_helper


scaled_in_place *= 0.5
