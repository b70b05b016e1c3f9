"""Recognize the equations that map a program over devices, and those whose values can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.known_integers import sizes_of_mesh

MAPS = ("shard_map", "xla_pmap")
"""The primitives that map a program over devices. `xla_pmap` exists in older versions of JAX."""

# On one device, these return their inputs:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/parallel.py
_IDENTITIES = {"psum", "psum2", "psum_invariant", "pmax", "pmin", "pvary", "pcast", "pbroadcast"}


def is_map(jaxpr: Any) -> bool:
    """Return whether a jaxpr does nothing but map another one, as that of `jax.pmap` does."""
    equations: Any = getattr(jaxpr, "eqns", ())
    return len(equations) == 1 and equations[0].primitive.name == "shard_map"


def can_enter(equation: Any) -> bool:
    """Return whether the mapped program also runs without its devices.

    This is the case on a single device, unless the program exchanges values over a mapped axis in
    another way than `run_collective` knows.
    """
    axes = sizes_of_mesh(equation)
    if any(size != 1 for size in axes.values()):
        return False
    return not any(
        _uses_axis(other, list(axes)) and not _is_simple(other)
        for jaxpr in jaxpr_utils.sub_jaxprs(equation)
        for other in jaxpr_utils.all_equations(jaxpr)
    )


def run_collective(equation: Any, values: Sequence[Any]) -> list[Any] | None:
    """Return what a collective operation returns on the only device, or None for other equations.

    Args:
        equation: An equation of a mapped program.
        values: The values of its inputs.
    """
    if not _is_simple(equation):
        return None
    return [jnp.int32(0)] if equation.primitive.name == "axis_index" else list(values)


def has_collective(jaxprs: Sequence[Any]) -> bool:
    """Return whether any of the jaxprs contains an operation that `run_collective` replaces."""
    return any(_is_simple(e) for jaxpr in jaxprs for e in jaxpr_utils.all_equations(jaxpr))


def squeeze_inputs(equation: Any, values: Sequence[Any]) -> list[Any]:
    """Return the inputs of the mapped program on the only device.

    Only `xla_pmap` removes the axis over which it maps.
    """
    if equation.primitive.name != "xla_pmap":
        return list(values)
    pairs = zip(values, equation.params["in_axes"], strict=True)
    return [value if axis is None else jnp.squeeze(value, axis) for value, axis in pairs]


def restore_outputs(equation: Any, outputs: Sequence[Any]) -> list[Any]:
    """Return the results of an equation from those of the mapped program on the only device."""
    if equation.primitive.name != "xla_pmap":
        return list(outputs)
    pairs = zip(outputs, equation.params["out_axes"], strict=True)
    return [value if axis is None else jnp.expand_dims(value, axis) for value, axis in pairs]


def _is_simple(equation: Any) -> bool:
    """Return whether a collective operation is trivial if there is only one device."""
    if equation.primitive.name == "axis_index":
        return True
    named = _named_axes(equation)
    return equation.primitive.name in _IDENTITIES and not any(isinstance(n, int) for n in named)


def _uses_axis(equation: Any, axes: Sequence[Any]) -> bool:
    """Return whether an equation names one of the mapped axes."""
    return any(name in axes for name in _named_axes(equation))


def _named_axes(equation: Any) -> list[Any]:
    """Return the axes that an equation names. For some primitives, these may be positions."""
    named = [equation.params.get(name) for name in ("axes", "axis_name")]
    return [n for value in named for n in (value if isinstance(value, (tuple, list)) else [value])]
