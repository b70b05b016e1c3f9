"""When two values count as the same, and how a value is shown in a line."""

from __future__ import annotations

from typing import Any

import numpy as np


def same(seen: Any, expected: Any) -> bool:
    """Tell whether two values, arrays or pytrees of them agree.

    Shapes must agree, and so must the kind of number (boolean, integer, floating, complex), save
    that an expected Python integer may stand for a float. Numbers of 32 and 64 bits agree to a
    relative 1e-5, NaN with NaN; narrower ones, and all that is not a number, agree when equal.

    >>> same(np.float32(0.1) + np.float32(0.2), 0.3), same(1, True), same([1, 2], [1, 3])
    (True, False, False)
    """
    import jax

    tree: Any
    wanted_tree: Any
    leaves, tree = jax.tree.flatten(seen, is_leaf=lambda x: x is None)
    wanted, wanted_tree = jax.tree.flatten(expected, is_leaf=lambda x: x is None)
    same_form: bool = tree == wanted_tree
    return same_form and all(map(_same_leaf, leaves, wanted))


def _same_leaf(seen: Any, expected: Any) -> bool:
    if not (_is_number(seen) and _is_number(expected)):
        return bool(seen == expected)
    if type(expected) is int and _kind(_as_numpy(seen)) == "f":
        expected = float(expected)
    a, b = _as_numpy(seen), _as_numpy(expected)
    if a.shape != b.shape or _kind(a) != _kind(b):
        return False
    if _kind(a) in "fc" and min(_bits(seen), _bits(expected)) >= 32:
        return bool(np.allclose(a, b, rtol=1e-5, atol=1e-7, equal_nan=True))
    both_nan = (a != a) & (b != b)
    return bool(np.all((a == b) | both_nan))


def _is_number(x: Any) -> bool:
    import jax

    return isinstance(x, bool | int | float | complex | np.ndarray | np.generic | jax.Array)


def _as_numpy(x: Any) -> np.ndarray[Any, Any]:
    import jax

    if isinstance(x, jax.Array) and jax.numpy.issubdtype(x.dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(x))
    return np.asarray(x)


def _kind(x: np.ndarray[Any, Any]) -> str:
    import jax.numpy as jnp

    for kind, dtype in (("b", np.bool_), ("i", np.integer), ("f", np.floating)):
        if jnp.issubdtype(x.dtype, dtype):
            return kind
    return "c" if jnp.issubdtype(x.dtype, np.complexfloating) else str(x.dtype)


def _bits(x: Any) -> int:
    return 8 * int(getattr(x, "itemsize", 8))


def show(value: Any) -> str:
    """Return a value in one short line, arrays as their numbers.

    >>> show(np.float32(9)), show([1.5, None])
    ('9.0', '[1.5, None]')
    """
    text = str(_as_numpy(value)) if _is_number(value) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:117] + "..."
