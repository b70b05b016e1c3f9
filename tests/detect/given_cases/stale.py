"""Labeled cases used to tune stale_global."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from labelled_cases import registry

CASES, case, add = registry()

X4 = jnp.arange(4.0)


# ------------------------------------------------------------ stale_global
scale = 2.0
config = {"lr": 0.1, "depth": 3}
offset_table = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
mode = "train"


def set_mode(m):
    global mode
    mode = m


def set_scale(s):
    global scale
    scale = s


@case("stale_global", True, X4)
def sg_scalar(x):
    return x * scale


@case("stale_global", True, X4)
def sg_dict(x):
    return x - config["lr"] * x


@case("stale_global", True, X4)
def sg_mode_flag(x):
    if mode == "train":
        return x * 2
    return x


@case("stale_global", False, X4)
def sg_numpy_table(x):
    return x + offset_table


class Model:
    def __init__(self):
        self.w = jnp.ones((4,))
        self.training = True

    def predict(self, x):
        return x * self.w

    def flagged(self, x):
        return x * 2 if self.training else x


# sg_bound_method
add("stale_global", True, Model().predict, X4)
# sg_bound_method_flag
add("stale_global", True, Model().flagged, X4)


def _closure():
    n_calls = {"value": 3.0}

    def inner(x):
        return x * n_calls["value"]

    return inner


# sg_closure_dict
add("stale_global", True, _closure(), X4)


def _helper_reads_global(x):
    return x * scale


@case("stale_global", True, X4)
def sg_through_helper(x):
    return _helper_reads_global(x) + 1


@case("stale_global", True, X4)
def sg_inside_scan(x):
    return lax.scan(lambda c, v: (c + v * scale, None), 0.0, x)[0]


GRAVITY = 9.81
SHAPE = (4,)


@case("stale_global", False, X4)
def sg_caps_constant_ok(x):
    return x * GRAVITY


@case("stale_global", False, X4)
def sg_np_pi_ok(x):
    return x * np.pi


@case("stale_global", False, X4)
def sg_helper_fn_ok(x):
    return _pure_helper(x)


def _pure_helper(x):
    return x * 2.0


@case("stale_global", False, X4, jnp.ones(4))
def sg_passed_in_ok(x, s):
    return x * s


def _closure_const():
    n = 3

    def inner(x):
        return x * n

    return inner


# sg_closure_immutable_ok
add("stale_global", False, _closure_const(), X4)


@case("stale_global", False, X4)
def sg_shadowed_local_ok(x):
    scale = 3.0  # This local name shadows the global one.
    return x * scale
