"""Labeled cases for stale_global with state that a program sets up once and then leaves alone."""

from __future__ import annotations

import enum
from collections.abc import Callable

import jax
import jax.numpy as jnp
from labelled_cases import registry

CASES, case, add = registry()

X = jnp.arange(10.0)


# ------------------------------------------------------------ globals that a function assigns
transform: Callable
decay: float
chosen_rate: float
warmed_up: float
swept: float
retried: float
depth = None
offset = 1.0
boost = None


def main():
    global transform, depth, offset, swept
    transform = jnp.cos
    depth = 3
    offset = 2.0
    for swept in (0.1, 0.2):  # noqa: B007
        pass
    set_decay()
    for rate in (0.1, 0.2):
        set_rate(rate)


def set_decay():
    global decay
    decay = 0.9


def set_rate(rate):
    global chosen_rate
    chosen_rate = rate


def warm_up():
    global warmed_up
    for step in range(3):
        warmed_up = 0.1 * step


def retry():
    global retried
    retried = 0.5


def set_boost():
    global boost
    boost = 2.0


main()
warm_up()
retry()
retry()
set_boost()
boost = 3.0

add("stale_global", False, jax.jit(lambda x: transform(x)), X)
add("stale_global", False, jax.jit(lambda x: x * decay), X)
add("stale_global", False, jax.jit(lambda x: x * (depth or 1)), X)
add("stale_global", True, jax.jit(lambda x: x + offset), X)
add("stale_global", True, jax.jit(lambda x: x * chosen_rate), X)
add("stale_global", True, jax.jit(lambda x: x * warmed_up), X)
add("stale_global", True, jax.jit(lambda x: x * swept), X)
add("stale_global", True, jax.jit(lambda x: x * retried), X)
add("stale_global", True, jax.jit(lambda x: x * boost), X)


# ------------------------------------------------------------ values that are built on first use
scale_of = None
clipped_at = None
rates_of = None


def build_scale():
    global scale_of
    if scale_of is None:
        scale_of = 0.5
    return scale_of


def build_limit():
    global clipped_at
    if clipped_at is not None:
        return clipped_at
    clipped_at = 3.0
    return clipped_at


def build_rate(size=1):
    global rates_of
    if rates_of is None or size > 1:
        rates_of = 0.1 * size
    return rates_of


build_scale(), build_limit(), build_rate(), build_rate(2)
add("stale_global", False, jax.jit(lambda x: x * build_scale()), X)
add("stale_global", False, jax.jit(lambda x: jnp.minimum(x, clipped_at)), X)
add("stale_global", True, jax.jit(lambda x: x * rates_of), X)


def with_gradient(function):
    slope = None

    def descend(x):
        nonlocal slope
        if slope is None:
            slope = jax.grad(lambda w: function(w).sum())
        return x - slope(x)

    return descend


def with_limit():
    limit = None

    def limited(x):
        nonlocal limit
        if limit is None:
            limit = 2.0
        return jnp.minimum(x, limit)

    def forget():
        nonlocal limit
        limit = None

    return limited, forget


descend, limited = with_gradient(jnp.sin), with_limit()[0]
descend(X), limited(X)
add("stale_global", False, jax.jit(descend), X)
add("stale_global", True, jax.jit(limited), X)


class Model:
    def __init__(self):
        self.width, self.bias = None, None

    def scaled(self, x):
        if self.width is None:
            self.width = 4
        if not hasattr(self, "shift"):
            self.shift = 0.5
        return x * self.width + self.shift

    def biased(self, x):
        if self.bias is None:
            self.bias = 1.0
        return x + self.bias

    def forget(self):
        self.bias = None


model = Model()
model.scaled(X), model.biased(X)
add("stale_global", False, jax.jit(model.scaled), X)
add("stale_global", True, jax.jit(model.biased), X)


# ------------------------------------------------------------ branches of which one runs
def by_kind(kind):
    if isinstance(kind, list):
        count = max(kind)

        def count_up(x):
            return sum(x * i for i in range(count + 1))
    elif isinstance(kind, int):
        count = kind

        def count_up(x):
            return sum(x + i for i in range(count + 1))

    return count_up


def by_kind_then_more(kind):
    if kind:
        count = 2
    else:
        count = 1

    def repeated(x):
        return x * count

    count = 3
    return repeated


add("stale_global", False, jax.jit(by_kind([0, 1, 1])), X)
add("stale_global", False, jax.jit(by_kind(2)), X)
add("stale_global", True, jax.jit(by_kind_then_more(True)), X)


# ------------------------------------------------------------ tables of settings
class Reward(enum.Enum):
    WOOD = 0
    STONE = 1

    @property
    def weight(self):
        return self.value + 0.5


views = {"first": {"blur": 0.5, "flip": True}, "second": {"blur": 0.1, "flip": False}}
layers = dict(conv=dict(size=3), dense=dict(size=4))  # noqa: C408
schedules = {"first": {"rate": 0.5}, "second": {"rate": 0.1}}
tuned = {"first": {"rate": 0.5}, "second": {"rate": 0.1}}
flat = {"rate": 0.5, "name": "adam"}


def tune(settings, rate):
    settings["rate"] = rate


def anneal():
    schedules["first"]["rate"] *= 0.5
    tune(tuned["first"], 0.1)


@case("stale_global", False, X)
def sums_members(x):
    return sum(x[member.value] * member.weight for member in Reward)


add("stale_global", False, jax.jit(lambda x: x * views["first"]["blur"]), X)
add("stale_global", False, jax.jit(lambda x: x * layers["conv"]["size"]), X)
add("stale_global", True, jax.jit(lambda x: x * schedules["first"]["rate"]), X)
add("stale_global", True, jax.jit(lambda x: x * tuned["first"]["rate"]), X)
add("stale_global", True, jax.jit(lambda x: x * flat["rate"]), X)


# ------------------------------------------------------------ containers from a function
def make_tables():
    return {"rank": 2, "scale": jnp.ones(10)}, {"window": jnp.hanning(10)}


def make_weights():
    return {"w": jnp.ones(10)}


table, windows = make_tables()
first_table = make_tables()[0]
weights = make_weights()
trained, _ = make_tables()


def train():
    trained["scale"] = 0.9 * trained["scale"]


def make_scaled():
    settings, _ = make_tables()
    return jax.jit(lambda x: x * settings["scale"])


refitted = make_weights()
add("stale_global", False, jax.jit(lambda x: x * table["scale"] * table["rank"]), X)
add("stale_global", False, jax.jit(lambda x: x * windows["window"]), X)
add("stale_global", False, jax.jit(lambda x: x * first_table["scale"]), X)
add("stale_global", False, jax.jit(lambda x: x * weights["w"]), X)
add("stale_global", False, make_scaled(), X)
add("stale_global", True, jax.jit(lambda x: x * trained["scale"]), X)
add("stale_global", True, jax.jit(lambda x: x * refitted["w"]), X)
refitted = make_weights()


# ------------------------------------------------------------ objects that register attributes
class Registry:
    def __init__(self):
        self.__dict__["_parts"] = {}

    def __setattr__(self, name, value):
        self._parts[name] = value

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.__dict__["_parts"]:
            raise AttributeError(name)
        return self.__dict__["_parts"][name]


class Scale(Registry):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


class Tuned(Scale):
    def tune(self, factor):
        self.factor = factor


scale, tuned_scale = Scale(3.0), Tuned(2.0)
add("stale_global", False, jax.jit(lambda x: scale(x)), X)
add("stale_global", True, jax.jit(lambda x: tuned_scale(x)), X)
