"""Decide whether two values count as equal in claims, exercises, and assignment tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

_KINDS = "ifc"  # Integer, float, and complex. A kind can stand in for any later one.


def is_equal(seen: Any, expected: Any) -> bool:
    """Return whether two values agree according to the default rules of `find_mismatch`.

    Args:
        seen: A number, an array, a pytree of them, or any other value.
        expected: The value to compare with.

    >>> is_equal(np.float32(0.1) + np.float32(0.2), 0.3), is_equal(1, True), is_equal([1], (1,))
    (True, False, False)
    """
    return find_mismatch(seen, expected) is None


def find_mismatch(
    seen: Any,
    expected: Any,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    min_bits: int = 32,
    allow_integers: bool = False,
    allow_lists: bool = False,
    validate: Callable[[Any], None] | None = None,
) -> tuple[Any, Any] | None:
    """Return the first pair of parts in which two values differ, or None if the values agree.

    Shapes must agree, and NaN equals NaN. Values that are neither numbers nor arrays must be equal.

    Args:
        seen: A number, an array, a pytree of them, or any other value.
        expected: The value to compare with.
        rtol: The relative tolerance for floats.
        atol: The absolute tolerance for floats.
        min_bits: The smallest width in bits at which the tolerances apply to floats. Narrower
            floats must be exactly equal.
        allow_integers: Whether `seen` may contain integers in place of floats and real numbers in
            place of complex ones. By default, both values must contain the same kind of number
            (boolean, integer, float, or complex), except that an expected Python integer also
            matches a float.
        allow_lists: Whether `seen` may contain lists of numbers in place of arrays, lists in place
            of tuples, and instances of a subclass in place of instances of its base class. By
            default, both values must have the same tree structure.
        validate: A function that is called with each part of `seen` before the part is compared.
            It is used only with `allow_lists`.

    Returns:
        The differing parts of `seen` and `expected`, or None if the values agree.

    >>> find_mismatch({"a": 1.0, "b": [2, 3]}, {"a": 1.0, "b": [2, 4]})
    (3, 4)
    >>> find_mismatch([1, 2], (1.0, 2.0), allow_integers=True, allow_lists=True) is None
    True
    """

    def is_close(seen: Any, expected: Any) -> bool:
        return _is_close(seen, expected, rtol, atol, min_bits, allow_integers, allow_lists)

    if allow_lists:
        return _compare_parts(seen, expected, is_close, validate or (lambda part: None))
    import jax

    structure: Any
    expected_structure: Any
    leaves, structure = jax.tree.flatten(seen, is_leaf=lambda x: x is None)
    wanted, expected_structure = jax.tree.flatten(expected, is_leaf=lambda x: x is None)
    if structure != expected_structure:
        return seen, expected
    return next((p for p in zip(leaves, wanted, strict=True) if not is_close(*p)), None)


def _compare_parts(
    seen: Any,
    expected: Any,
    is_close: Callable[[Any, Any], bool],
    validate: Callable[[Any], None],
) -> tuple[Any, Any] | None:
    import jax

    validate(seen)
    seen = builtin_container(seen)
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(expected, dict):
        if not isinstance(seen, dict) or set(seen) != set(expected):
            return seen, expected
        pairs = [(seen[key], part) for key, part in expected.items()]
    elif isinstance(expected, tuple) or (isinstance(expected, list) and not _is_numeric(expected)):
        if not isinstance(seen, tuple | list) or len(seen) != len(expected):
            return seen, expected
        pairs = zip(seen, expected, strict=True)
    elif expected is None or isinstance(expected, str | bytes):
        is_same = type(seen) is type(expected) and seen == expected
        return None if is_same else (seen, expected)
    elif isinstance(expected, list) or jax.tree_util.all_leaves([expected]):
        return None if is_close(seen, expected) else (seen, expected)
    else:  # `expected` is a registered pytree node.
        structures: list[Any] = [jax.tree.structure(tree) for tree in (seen, expected)]
        if structures[0] != structures[1]:
            return seen, expected
        pairs = zip(jax.tree.leaves(seen), jax.tree.leaves(expected), strict=True)
    found = (_compare_parts(*pair, is_close, validate) for pair in pairs)
    return next((mismatch for mismatch in found if mismatch is not None), None)


def builtin_container(value: Any) -> Any:
    """Copy a dict, list, or tuple into its built-in type, or return any other value unchanged.

    The built-in type's own methods make the copy, because a subclass may override them.

    >>> builtin_container((1, 2)), builtin_container("text")
    ((1, 2), 'text')
    """
    if isinstance(value, dict):
        return dict(dict.items(value))
    if isinstance(value, tuple):
        return tuple(tuple.__iter__(value))
    return list(list.__iter__(value)) if isinstance(value, list) else value


def _is_close(
    seen: Any,
    expected: Any,
    rtol: float,
    atol: float,
    min_bits: int,
    allow_integers: bool,
    allow_lists: bool,
) -> bool:
    if not allow_lists and not (_is_number(seen) and _is_number(expected)):
        return bool(seen == expected)
    try:
        a, b = _to_numpy(seen), _to_numpy(expected)
    except (TypeError, ValueError):
        return False
    kind, wanted = _kind(a), _kind(b)
    if allow_integers:
        agrees = kind == wanted == "b" or 0 <= _KINDS.find(kind) <= _KINDS.find(wanted)
    else:
        wanted = "f" if type(expected) is int and kind == "f" else wanted
        agrees = kind == wanted
    if not agrees or a.shape != b.shape:
        return False
    if wanted in "fc" and min(_bits(seen), _bits(expected)) >= min_bits:
        return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))
    return bool(np.all((a == b) | ((a != a) & (b != b))))


def _is_number(value: Any) -> bool:
    import jax

    return isinstance(value, bool | int | float | complex | np.ndarray | np.generic | jax.Array)


def _is_numeric(value: list[Any]) -> bool:
    """Return whether a list is equivalent to a numeric array."""
    try:
        return _kind(_to_numpy(value)) in ("b", *_KINDS)
    except (TypeError, ValueError):
        return False


def _to_numpy(value: Any) -> np.ndarray[Any, Any]:
    import jax

    if isinstance(value, list | tuple):
        # Accept only Python's own number types here, because a subclass can convert to any value.
        value = [x if type(x) in (bool, int, float, complex) else _to_numpy(x) for x in value]
    elif not _is_number(value):
        raise TypeError(f"value must be a number or an array, got {type(value).__name__}")
    elif isinstance(value, jax.Array) and jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value)
    if array.dtype.kind == "V" and array.dtype.names is None:
        # To NumPy, the dtypes of ml_dtypes, such as bfloat16 and int4, are void types.
        array = array.astype(np.int32 if "int" in array.dtype.name else np.float32)
    return array


def _kind(array: np.ndarray[Any, Any]) -> str:
    """Return an array's kind as "b", "i", "f", or "c", or its dtype's name for any other kind."""
    kind = "i" if array.dtype.kind == "u" else array.dtype.kind
    return kind if kind in "bifc" else str(array.dtype)


def _bits(value: Any) -> int:
    return 8 * int(getattr(value, "itemsize", 8))
