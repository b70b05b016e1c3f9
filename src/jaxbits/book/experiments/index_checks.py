"""Run every check for out-of-bounds indices on buggy and correct code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import checkify

from jaxbits import detect
from jaxbits.book.jax_switches import recorded_error, switched

_LENGTH = 10


@dataclass(frozen=True)
class Access:
    """An indexing expression for testing the checks.

    Attributes:
        name: The label in the figure.
        use: The function under test. Its arguments are traced under `jit`.
        args: The function's arguments.
        is_bug: Whether the access is a bug that the checks should report.
    """

    name: str
    use: Callable[..., jax.Array]
    args: tuple[jax.Array, ...]
    is_bug: bool = True


# The detector accepts every access in a statement that contains `mode=`, so each access needs
# a statement of its own.
def _constant(x: jax.Array) -> jax.Array:
    return x[11]


def _brackets(x: jax.Array, i: jax.Array) -> jax.Array:
    return x[i]


def _take(x: jax.Array, i: jax.Array) -> jax.Array:
    return jnp.take(x, i)


def _write(x: jax.Array, i: jax.Array) -> jax.Array:
    return x.at[i].set(0.0)


def _slice(x: jax.Array, i: jax.Array) -> jax.Array:
    return lax.dynamic_slice(x, (i,), (5,))


def _segment_sum(x: jax.Array, i: jax.Array) -> jax.Array:
    return jax.ops.segment_sum(x, i, num_segments=10)


def _one_hot(i: jax.Array) -> jax.Array:
    return jax.nn.one_hot(i, 10)


def _switch(i: jax.Array) -> jax.Array:
    chosen: jax.Array = lax.switch(i, [lambda: 10.0, lambda: 11.0])
    return chosen


def _filled(x: jax.Array, i: jax.Array) -> jax.Array:
    return x.at[i].get(mode="fill", fill_value=0.0)


def _masked(x: jax.Array, i: jax.Array) -> jax.Array:
    return jnp.where(i < _LENGTH, x[i], 0.0)


def _clipped(x: jax.Array, i: jax.Array) -> jax.Array:
    return x[jnp.clip(i, 0, _LENGTH - 1)]


def _columns(x: jax.Array, i: jax.Array) -> jax.Array:
    return x.reshape(2, 5)[:, i]


def example_accesses() -> list[Access]:
    """Return the accesses to check, first the bugs and then the correct accesses."""
    x = jnp.arange(float(_LENGTH))
    one, many, far = jnp.array(11), jnp.array([2, 11]), jnp.array([2, -11])
    ten = jnp.arange(_LENGTH).at[-1].set(11)
    return [
        Access("x[11]", _constant, (x,)),
        Access("x[i], i = 11", _brackets, (x, one)),
        Access("x[i], i = [2, 11]", _brackets, (x, many)),
        Access("x[i], i = [2, −11]", _brackets, (x, far)),
        Access("jnp.take(x, i)", _take, (x, many)),
        Access("x.at[i].set(0)", _write, (x, many)),
        Access("dynamic_slice", _slice, (x, jnp.array(8))),
        Access("segment_sum", _segment_sum, (x, ten)),
        Access("x[−1], an off-by-one", _brackets, (x, jnp.array(-1))),
        Access("one_hot(11, 10)", _one_hot, (one,)),
        Access("switch(11, …)", _switch, (one,)),
        Access("mode='fill'", _filled, (x, many), is_bug=False),
        Access("where(i < 10, x[i], 0)", _masked, (x, many), is_bug=False),
        Access("table[:, i], legal i", _columns, (x, jnp.array([1, 3])), is_bug=False),
        Access("x[clip(i, 0, 9)]", _clipped, (x, many), is_bug=False),
    ]


def _by_checkify(access: Access) -> bool:
    checked = checkify.checkify(jax.jit(access.use), errors=checkify.index_checks)
    return checked(*access.args)[0].get() is not None


def _by_static_check(access: Access) -> bool:
    with switched("jax_check_static_indices", True):
        try:
            jax.jit(access.use)(*access.args)
        except IndexError:
            return True
    return False


def _by_oob_switch(access: Access) -> bool:
    with switched("jax_error_checking_behavior_oob", "raise"):
        try:
            jax.jit(access.use)(*access.args)
        except ValueError:  # JAX 0.7.2 cannot trace `jnp.take` with this switch.
            return False
        return recorded_error() is not None


def _by_detector(access: Access) -> bool:
    found = detect.out_of_bounds(access.use, *access.args)
    return any(finding.severity == "error" for finding in found)


CHECKS: dict[str, Callable[[Access], bool]] = {
    "checkify.index_checks": _by_checkify,
    "jax_check_static_indices": _by_static_check,
    "jax_error_checking_behavior_oob": _by_oob_switch,
    "detect.out_of_bounds": _by_detector,
}
"""The checks, keyed by name. Each function returns whether the check reports an access."""


def check_reports() -> dict[str, dict[str, bool]]:
    """Run all checks on all accesses, and return which checks report each access."""
    return {
        access.name: {name: check(access) for name, check in CHECKS.items()}
        for access in example_accesses()
    }
