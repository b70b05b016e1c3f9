"""Run canaries, which must fail unless the notebook has tampered with the functions they call.

The grader calls `failed_canaries` in the student's kernel before each test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any


def failed_canaries() -> str:
    """Return the names of the functions that accept a wrong value, one name per line.

    It checks some builtins, and functions from NumPy, JAX, and jaxbits if those packages have been
    imported.

    Example:
        >>> failed_canaries()
        ''
    """
    return "\n".join(name for name, must_be_true in _canaries() if not must_be_true())


def _canaries() -> Iterator[tuple[str, Callable[[], bool]]]:
    for name, call in {
        "isinstance": lambda: isinstance(1, str),
        "any": lambda: any([False]),
        "all": lambda: all([False]),
        "abs": lambda: abs(-2) != 2,
        "float": lambda: float("1.5") != 1.5,
        "len": lambda: len([1]) != 1,
    }.items():
        yield name, _is_false(call)
    np, jnp = sys.modules.get("numpy"), sys.modules.get("jax.numpy")
    if np is not None:
        yield from _array_canaries(np, "numpy")
        np_testing: Any = sys.modules.get("numpy.testing")
        if np_testing is not None:
            different = [1.0, 2.0], [1.0, 3.0]
            for name in ("assert_array_equal", "assert_allclose", "assert_array_almost_equal"):
                yield f"numpy.testing.{name}", _raises(getattr(np_testing, name), *different)
    if jnp is not None:
        yield from _array_canaries(jnp, "jax.numpy")
    testing: Any = sys.modules.get("jaxbits.testing")
    if testing is not None:
        yield "jaxbits.testing.assert_close", _raises(testing.assert_close, 1.0, 2.0, "a canary")
        yield "jaxbits.testing.assert_array", _raises(testing.assert_array, 1.0, "a canary")


def _array_canaries(module: Any, name: str) -> Iterator[tuple[str, Callable[[], bool]]]:
    yield f"{name}.allclose", _is_false(lambda: module.allclose(1.0, 2.0))
    yield f"{name}.array_equal", _is_false(lambda: module.array_equal([1], [2]))
    yield f"{name}.all", _is_false(lambda: module.all(module.zeros(2)))
    yield f"{name}.isfinite", _is_false(lambda: module.isfinite(float("inf")))


def _is_false(call: Callable[[], Any]) -> Callable[[], bool]:
    def is_false() -> bool:
        try:
            return not call()
        except Exception:  # If the function raises an error, no test that calls it can pass.
            return True

    return is_false


def _raises(call: Callable[..., Any], *args: Any) -> Callable[[], bool]:
    def raises() -> bool:
        try:
            call(*args)
        except Exception:
            return True
        return False

    return raises
