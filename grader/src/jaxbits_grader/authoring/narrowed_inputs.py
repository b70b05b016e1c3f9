"""Replace a function by one that handles only some inputs or results that a task allows.

The grader appends the source of this file to a solution (see
`jaxbits_grader.authoring.limit_answers`). The file therefore imports nothing from the grader, and
it defines no name that the notebook could use, such as `jax`.
"""

import functools as _functools
import inspect as _inspect
from collections.abc import Callable as _Callable
from typing import Any as _Any


def _narrowed(
    function: _Callable[..., _Any], argument: str, change: str, **settings: _Any
) -> _Callable[..., _Any]:
    """Return a function that calls another one, and changes one of its arguments or its result.

    Args:
        function: The function to call.
        argument: The name of the argument, or "return" for the result.
        change: The name of the change, which is a key of `_CHANGES`.
        **settings: What the change needs.
    """
    signature = _inspect.signature(function)
    apply = _functools.partial(_CHANGES[change], **settings)

    @_functools.wraps(function)
    def narrowed(*args: _Any, **kwargs: _Any) -> _Any:
        bound = signature.bind(*args, **kwargs)
        if argument in bound.arguments:
            bound.arguments[argument] = apply(bound.arguments[argument])
        result = function(*bound.args, **bound.kwargs)
        return apply(result) if argument == "return" else result

    return narrowed


def _on_leaves(change: _Callable[[_Any], _Any], value: _Any) -> _Any:
    """Apply a change to each number and array in lists, tuples, and dictionaries."""
    if isinstance(value, dict):
        return type(value)({key: _on_leaves(change, part) for key, part in value.items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_on_leaves(change, part) for part in value])
    if isinstance(value, list | tuple):
        return type(value)(_on_leaves(change, part) for part in value)
    return change(value)


def _kind(value: _Any) -> str:
    """Return "float", "int", or another kind of numbers, or an empty string for anything else."""
    import jax
    import numpy as np

    if type(value) in (bool, int, float):  # But not np.float64, which is also a float.
        return type(value).__name__
    if not isinstance(value, np.ndarray | np.generic | jax.Array):
        return ""
    if jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key):
        return ""
    kinds = {"bool": np.bool_, "int": jax.numpy.integer, "float": jax.numpy.floating}
    found = (name for name, cls in kinds.items() if jax.numpy.issubdtype(value.dtype, cls))
    return next(found, "")


def _chosen(value: _Any, condition: _Any, other: float) -> _Any:
    """Return an array or number with other values where a condition holds, of the same type."""
    import jax
    import numpy as np

    if isinstance(value, jax.Array):
        return jax.numpy.where(condition, jax.numpy.asarray(other, value.dtype), value)
    if isinstance(value, np.ndarray | np.generic):
        return np.where(condition, np.asarray(other, value.dtype), value)[()].astype(value.dtype)
    return type(value)(other) if condition else value


def _library(value: _Any) -> _Any:
    import jax
    import numpy as np

    return jax.numpy if isinstance(value, jax.Array) else np


def _clip(value: _Any, low: float, high: float) -> _Any:
    import math

    def leaf(value: _Any) -> _Any:
        is_int = _kind(value) == "int"
        # Infinity is no large number, but a special one.
        if _holds(value, high):
            most = _like(value, math.floor(high) if is_int else high)
            is_above = value > most if is_int else (value > most) & (value != math.inf)
            value = _chosen(value, is_above, most)
        if _holds(value, low):
            least = _like(value, math.ceil(low) if is_int else low)
            is_below = value < least if is_int else (value < least) & (value != -math.inf)
            value = _chosen(value, is_below, least)
        return value

    return _on_leaves(leaf, value)


def _like(value: _Any, number: float) -> _Any:
    """Return a number of the dtype of an array, or of the type of a Python number."""
    dtype = getattr(value, "dtype", None)
    return type(value)(number) if dtype is None else _library(value).asarray(number, dtype)


def _holds(value: _Any, bound: float) -> bool:
    """Return whether a bound makes sense for a number or the items of an array."""
    import math

    import numpy as np

    if _kind(value) != "int" or math.isinf(bound) or isinstance(value, int):
        return _kind(value) in ("int", "float") and not math.isinf(bound)
    limits = np.iinfo(value.dtype)
    return limits.min <= int(bound) <= limits.max


def _shorten(value: _Any, most: int, axis: int) -> _Any:
    def leaf(value: _Any) -> _Any:
        if axis >= getattr(value, "ndim", 0) or value.shape[axis] <= most:
            return value
        places = _library(value).arange(value.shape[axis])
        places = _library(value).where(places < most, places, 0)
        return value[(*(slice(None),) * axis, places)]

    if type(value) in (list, tuple, str):
        if axis:
            return type(value)(_shorten(part, most, axis - 1) for part in value)
        return value[:most] + value[:1] * max(0, len(value) - most)
    return _on_leaves(leaf, value)


def _refuse_size(value: _Any, size: int, axis: int) -> _Any:
    found = value
    while axis and isinstance(found, list | tuple) and found:
        found, axis = found[0], axis - 1
    shape = getattr(found, "shape", None)
    sizes = shape[axis : axis + 1] if shape is not None else (len(found),)
    if size in sizes:
        raise ValueError(f"this answer cannot handle the size {size}")
    return value


def _round(value: _Any, step: float) -> _Any:
    import jax

    def leaf(value: _Any) -> _Any:
        if _kind(value) != "float":
            return value
        rounded = _library(value).round(value / step) * step
        if isinstance(value, jax.Array):  # The gradient remains that of the number.
            rounded = value + jax.lax.stop_gradient(rounded - value)
        return _chosen(value, value == value, rounded)

    return _on_leaves(leaf, value)


def _forget(value: _Any, what: str) -> _Any:
    import math

    def leaf(value: _Any) -> _Any:
        if _kind(value) != "float":
            return value
        if what == "nan":
            return _chosen(value, value != value, 0.0)
        if what == "-0.0":
            return _chosen(value, value == 0, 0.0)
        return _chosen(value, value == float(what), math.copysign(1.0, float(what)))

    return _on_leaves(leaf, value)


def _refuse_kind(value: _Any, kind: str) -> _Any:
    import jax
    import numpy as np

    def matches(value: _Any) -> bool:
        library, _, dtype = kind.partition(".")
        if library in ("np", "jnp"):
            expected = jax.Array if library == "jnp" else np.ndarray | np.generic
            return isinstance(value, expected) and dtype in ("", str(value.dtype))
        return type(value).__name__ == kind

    def leaf(value: _Any) -> _Any:
        if matches(value):
            raise TypeError(f"this answer cannot handle {kind}")
        return value

    return leaf(value) if kind in ("list", "tuple", "dict") else _on_leaves(leaf, value)


_CHANGES: dict[str, _Callable[..., _Any]] = {
    "clip": _clip,
    "shorten": _shorten,
    "refuse size": _refuse_size,
    "round": _round,
    "forget": _forget,
    "refuse kind": _refuse_kind,
}
