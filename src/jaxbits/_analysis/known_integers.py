"""Compute the integers in a program that follow from its literals and from its arguments.

The result is what the integers are in this call. For example, it contains the number of each
iteration of a `lax.scan` over `jnp.arange(3)`, and the index of each row under `jax.vmap`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend.core import Jaxpr, Literal

_MAX_SIZE = 10_000
"""The maximum number of integers in an array whose values are computed."""

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "rem": np.fmod,
    "max": np.maximum,
    "min": np.minimum,
}


@dataclass(frozen=True)
class Integers:
    """The integers that an array contains.

    Attributes:
        values: The integers. Their shape is that of the array, unless `varies` is true.
        varies: Whether the array is a single number that differs between the iterations of a loop
            or between devices. In that case, `values` contains all the numbers.
    """

    values: np.ndarray[Any, Any]
    varies: bool = False

    @property
    def elements(self) -> Integers | None:
        """The numbers that a loop over the array gets, or None if it gets arrays."""
        return Integers(self.values, varies=True) if self.values.ndim == 1 else None


def known_value(value: Any, dtype: Any = None) -> Integers | None:
    """Return the integers in a constant or an argument, or None if it has others or too many.

    >>> known_value(3).values, known_value(0.5)
    (array(3), None)
    """
    if isinstance(value, (bool, float, complex)) or getattr(value, "size", 1) > _MAX_SIZE:
        return None
    if not isinstance(value, (int, np.generic, np.ndarray, jax.Array)):
        return None
    with suppress(Exception):  # The array may be a PRNG key, or it may have been deleted.
        array = np.asarray(value)
        if array.dtype.kind in "iu":
            return Integers(array.astype(dtype or array.dtype))
    return None


def compute_integers(
    equation: Any, operands: Sequence[Integers | None], axis_sizes: Mapping[Any, int]
) -> Integers | None:
    """Return the integers that an equation computes, or None if they are unknown.

    Args:
        equation: The equation.
        operands: The integers that it computes them from.
        axis_sizes: The number of devices along each axis of the enclosing mesh.
    """
    name, params, aval = equation.primitive.name, equation.params, equation.outvars[0].aval
    dtype = getattr(aval, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iu" or aval.size > _MAX_SIZE:
        return None
    if name == "iota":
        shape = [1] * len(aval.shape)
        shape[params["dimension"]] = -1
        numbers = np.arange(aval.shape[params["dimension"]], dtype=dtype)
        return Integers(np.broadcast_to(numbers.reshape(shape), aval.shape))
    if name == "axis_index":
        size = axis_sizes.get(params["axis_name"], 0)
        return Integers(np.arange(size, dtype=dtype), varies=True) if size else None
    known = [operand for operand in operands if operand is not None]
    if not known or len(known) < len(operands):
        return None
    if name in _OPERATIONS:
        return _combine(_OPERATIONS[name], known, dtype)
    (first, *others) = known
    if others:
        return None
    if name in ("convert_element_type", "copy", "copy_p"):
        return Integers(first.values.astype(dtype), first.varies)
    if name in ("broadcast_in_dim", "reshape", "squeeze", "slice") and first.varies:
        return first if aval.size == 1 else None
    if name == "broadcast_in_dim":
        shape = [1] * len(aval.shape)
        for axis, size in zip(params["broadcast_dimensions"], first.values.shape, strict=True):
            shape[axis] = size
        return Integers(np.broadcast_to(first.values.reshape(shape), aval.shape))
    if name == "reshape":
        return Integers(first.values.reshape(aval.shape)) if not params["dimensions"] else None
    return select_elements(equation, first)


def select_elements(
    equation: Any, operand: Integers, index: int = 0, batch_axes: int = 0
) -> Integers | None:
    """Return the elements that a slice, a `squeeze`, or an `unstack` selects, or None.

    Args:
        equation: The equation. Its operand may have more axes, which must then stay complete.
        operand: The elements to select from.
        index: The index of the result among those of the equation.
        batch_axes: How many of the additional axes come first.
    """
    name, params, values = equation.primitive.name, equation.params, operand.values
    if operand.varies:
        return None
    axes = slice(batch_axes, batch_axes + values.ndim)
    if name == "squeeze" and all(axes.start <= axis < axes.stop for axis in params["dimensions"]):
        return Integers(values.squeeze(tuple(axis - batch_axes for axis in params["dimensions"])))
    if name == "unstack" and params["axis"] == batch_axes and values.ndim:
        return Integers(values[index])
    before, after = (v.aval.shape for v in (equation.invars[0], equation.outvars[0]))
    others = [(*shape[:batch_axes], *shape[axes.stop :]) for shape in (before, after)]
    if name == "slice" and others[0] == others[1]:
        starts, limits = params["start_indices"], params["limit_indices"]
        strides = params["strides"] or (1,) * len(starts)
        ranges = [slice(*bounds) for bounds in zip(starts, limits, strides, strict=True)]
        return Integers(values[tuple(ranges[axes])])
    return None


def _combine(
    operation: Callable[..., Any], operands: Sequence[Integers], dtype: Any
) -> Integers | None:
    """Apply an operation on integers, of which at most one may vary."""
    varying = [operand for operand in operands if operand.varies]
    if len(varying) > 1 or (varying and any(o.values.size != 1 for o in operands if not o.varies)):
        return None
    with np.errstate(all="ignore"):
        values = [o.values.reshape(-1) if varying else o.values for o in operands]
        return Integers(operation(*values).astype(dtype), bool(varying))


def count_iterations(
    body: Jaxpr, start: Integers | None, variable: Any, result: Any, iterations: int
) -> Integers | None:
    """Return the values of a carried number to which every iteration of a loop adds a literal.

    The first iteration is analyzed by itself, so the result is None if only the start is known.

    Args:
        body: The body of the loop.
        start: The number before the first iteration.
        variable: The variable of the body that holds the number.
        result: The variable or literal that holds the number for the next iteration.
        iterations: The number of iterations.
    """
    if start is None or start.values.ndim or iterations > _MAX_SIZE:
        return None
    for equation in body.eqns:
        if equation.primitive.name == "add" and equation.outvars[0] is result:
            steps = [atom.val for atom in equation.invars if isinstance(atom, Literal)]
            if len(steps) == 1 and any(atom is variable for atom in equation.invars):
                return Integers(start.values + int(steps[0]) * np.arange(iterations), varies=True)
    return None


def sizes_of_mesh(equation: Any) -> dict[Any, int]:
    """Return the number of devices along each axis over which an equation maps a program.

    Up to JAX 0.9, `jax.pmap` may have a primitive of its own:
    https://github.com/jax-ml/jax/blob/jax-v0.7.2/jax/_src/interpreters/pxla.py
    """
    params = equation.params
    if equation.primitive.name == "xla_pmap":
        return {params["axis_name"]: int(params["axis_size"])}
    return dict(getattr(params.get("mesh"), "shape", {}))
