"""Trip wires: what has to fail in a student's kernel as long as the means of testing are whole.

`passing` runs in the kernel; the grader asks for it before each test.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any


def passing() -> str:
    """Name what has to fail and does not, one a line; empty where all is whole.

    Only what the notebook has imported is tried.

    >>> passing()
    ''
    """
    return "\n".join(name for name, fails in _wires() if not fails())


def _wires() -> Iterator[tuple[str, Callable[[], bool]]]:
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
        yield from _of_arrays(np, "numpy")
        testing: Any = sys.modules.get("numpy.testing")
        if testing is not None:
            different = [1.0, 2.0], [1.0, 3.0]
            for name in ("assert_array_equal", "assert_allclose", "assert_array_almost_equal"):
                yield f"numpy.testing.{name}", _raises(getattr(testing, name), *different)
    if jnp is not None:
        yield from _of_arrays(jnp, "jax.numpy")
    ours: Any = sys.modules.get("jaxbits.testing")
    if ours is not None:
        yield "jaxbits.testing.assert_close", _raises(ours.assert_close, 1.0, 2.0, "a wire")
        yield "jaxbits.testing.assert_array", _raises(ours.assert_array, 1.0, "a wire")


def _of_arrays(module: Any, name: str) -> Iterator[tuple[str, Callable[[], bool]]]:
    yield f"{name}.allclose", _is_false(lambda: module.allclose(1.0, 2.0))
    yield f"{name}.array_equal", _is_false(lambda: module.array_equal([1], [2]))
    yield f"{name}.all", _is_false(lambda: module.all(module.zeros(2)))
    yield f"{name}.isfinite", _is_false(lambda: module.isfinite(float("inf")))


def _is_false(call: Callable[[], Any]) -> Callable[[], bool]:
    def fails() -> bool:
        try:
            return not call()
        except Exception:  # what raises lets no test pass
            return True

    return fails


def _raises(call: Callable[..., Any], *args: Any) -> Callable[[], bool]:
    def fails() -> bool:
        try:
            call(*args)
        except Exception:
            return True
        return False

    return fails
