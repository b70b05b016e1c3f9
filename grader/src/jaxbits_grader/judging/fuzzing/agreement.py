"""Compare the result of an answer with those of right answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits_grader.judging.fuzzing.argument_parts import is_key

# How far a number may be from that of the solution, relative to this number and to the largest.
_RTOL, _ATOL = 1e-4, 1e-5
# How far right answers may be apart, and how much farther an answer may be from them.
_MOST_RTOL, _MOST_ATOL, _SLACK = 1e-3, 1e-4, 10.0


class NoAgreement(Exception):
    """Raised if right answers disagree, or if their results are no plain data."""


def agrees(
    result: Any, references: Sequence[Any], atol: float = 0.0, rounding: float = 0.0
) -> bool:
    """Return whether a result is close to those of right answers.

    Types, dtypes, and weak types are ignored, because right answers may differ in them. Where the
    numbers of right answers differ because of rounding, those of the result may differ, too.

    Args:
        result: The result of an answer.
        references: The results of right answers.
        atol: How far numbers may be apart, in addition to rounding errors.
        rounding: How large the rounding errors of the arguments' dtypes are, relative to a number.

    Raises:
        NoAgreement: If the right answers disagree, or if their results are no plain data.

    Example:
        >>> agrees([1.0, 2.0], [np.array([1.0, 2.0]), (1.0, 2.0)])
        True
        >>> agrees([1.0, 3.0], [np.array([1.0, 2.0])])
        False
    """
    first, *others = [_flatten(reference) for reference in references]
    rtol = 4 * rounding
    spread = [_distance(a, b, atol, rtol) for other in others for a, b in _pairs(first, other)]
    if any(one is None for one in spread):
        raise NoAgreement("right answers disagree")
    try:
        found = _flatten(result)
    except NoAgreement:
        return False
    if found.keys() != first.keys():
        return False
    for n, (path, expected) in enumerate(first.items()):
        own = [distance for distance in spread[n :: len(first)] if distance is not None]
        more = atol + (_SLACK * np.max(own, axis=0) if own else 0.0)
        if not _is_close(expected, found[path], more, rtol):
            return False
    return True


def has_same_types(result: Any, references: Sequence[Any]) -> bool:
    """Return whether a result has the same types as the results of right answers.

    Any types are accepted if the results of right answers differ in type. The types are those of
    numbers and arrays, together with their dtypes. A NumPy scalar counts as a NumPy array.

    Args:
        result: The result of an answer.
        references: The results of right answers.

    Example:
        >>> references = [jnp.float32(1), jnp.ones((), jnp.float32)]
        >>> has_same_types(jnp.float32(2), references), has_same_types(np.float32(2), references)
        (True, False)
        >>> has_same_types(np.float32(2), [jnp.float32(2), 2.0])
        True
    """
    first, *others = map(_types, references)
    return any(other != first for other in others) or _types(result) == first


def is_finite(result: Any) -> bool:
    """Return whether all floating-point numbers in a result are finite.

    Example:
        >>> is_finite({"a": [1.0, 2]}), is_finite(float("inf"))
        (True, False)
    """
    arrays = [part for part in _flatten(result).values() if isinstance(part, np.ndarray)]
    return all(np.isfinite(array).all() for array in arrays if array.dtype.kind in "fc")


def rounding_error(values: Any) -> float:
    """Return the largest relative rounding error of the 16-bit floating-point numbers in values.

    It is 0 if there are none, because errors of other dtypes are expected anyway.

    Example:
        >>> rounding_error({"a": np.float16(1), "b": 2.0}), rounding_error([1, 2.0])
        (0.0009765625, 0.0)
    """
    dtypes = [getattr(leaf, "dtype", None) for leaf in jax.tree.leaves(values)]
    half = [dtype for dtype in dtypes if dtype in (np.float16, jnp.bfloat16)]
    return max((float(jnp.finfo(dtype).eps) for dtype in half), default=0.0)


def _types(value: Any) -> list[str]:
    """Return the type and the dtype of each number and array in a tree."""
    names = []
    for leaf in jax.tree.leaves(value):
        library = next(
            (one for one in (jax.Array, np.ndarray) if isinstance(leaf, one)), type(leaf)
        )
        library = np.ndarray if isinstance(leaf, np.generic) else library
        names.append(f"{library.__name__} {getattr(leaf, 'dtype', '')}")
    return names


def _pairs(first: dict[str, Any], other: dict[str, Any]) -> list[tuple[Any, Any]]:
    if first.keys() != other.keys():
        raise NoAgreement("right answers have different structures")
    return [(value, other[path]) for path, value in first.items()]


def _flatten(value: Any, path: str = "") -> dict[str, Any]:
    """Return the arrays and strings in nested containers, keyed by their paths.

    A list of numbers counts as an array, and a list counts as a tuple.

    Raises:
        NoAgreement: If a part is something else, such as a function.
    """
    if value is None or isinstance(value, str):
        return {path: value}
    if is_key(value):
        return {path: np.asarray(jax.random.key_data(value))}
    if isinstance(value, bool | int | float | complex | np.generic | np.ndarray | jax.Array):
        found = np.asarray(value)
        if found.dtype == object:  # An example is an integer with more than 64 bits.
            return {path: str(value)}
        return {path: found if found.dtype.kind in "biufc" else found.astype(np.float64)}
    if isinstance(value, dict):
        parts = [(repr(key), value[key]) for key in sorted(value, key=repr)]
    elif isinstance(value, list | tuple):
        if value and all(map(_is_scalar, value)):
            return _flatten(np.array([np.asarray(part)[()] for part in value]), path)
        parts = [(str(n), part) for n, part in enumerate(value)]
    else:
        leaves = jax.tree.leaves(value)
        if len(leaves) == 1 and leaves[0] is value:
            raise NoAgreement(f"a result is of type {type(value).__name__}")
        parts = [(str(n), leaf) for n, leaf in enumerate(leaves)]
    flat: dict[str, Any] = {f"{path}/": len(parts)}
    for key, part in parts:
        flat |= _flatten(part, f"{path}/{key}")
    return flat


def _is_scalar(value: Any) -> bool:
    if is_key(value) or not isinstance(
        value, bool | int | float | np.generic | np.ndarray | jax.Array
    ):
        return False
    return np.ndim(value) == 0


def _is_exact(value: Any) -> bool:
    return not isinstance(value, np.ndarray) or value.dtype.kind in "biu"


def _distance(a: Any, b: Any, atol: float, rtol: float) -> Any:
    """Return the absolute differences of two parts, or None if they differ by too much."""
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return 0.0 if type(a) is type(b) and a == b else None
    if a.shape != b.shape or (_is_exact(a) and not np.array_equal(a, b)):
        return None
    if _is_exact(a):
        return 0.0
    a, b = _wide(a), _wide(b)
    atol += max(_MOST_ATOL, rtol) * _largest(a)
    if not np.isclose(b, a, max(_MOST_RTOL, rtol), atol, equal_nan=True).all():
        return None
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.abs(a - b))


def _is_close(expected: Any, found: Any, more: Any, rtol: float) -> bool:
    if not (isinstance(expected, np.ndarray) and isinstance(found, np.ndarray)):
        return type(expected) is type(found) and bool(expected == found)
    if expected.shape != found.shape:
        return False
    if _is_exact(expected):
        return bool(np.array_equal(expected, found))
    a, b = _wide(expected), _wide(found)
    atol = max(_ATOL, rtol) * _largest(a) + more
    return bool(np.isclose(b, a, max(_RTOL, rtol), atol, equal_nan=True).all())


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _largest(array: np.ndarray) -> float:
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max()) if finite.size else 0.0
