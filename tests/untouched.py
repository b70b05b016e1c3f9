"""What a test changes in a module it undoes, or it has failed, and not the next one on its worker.

Tests here run answers of students who replace functions of NumPy, JAX and ``jaxbits.expect``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

MODULES = [
    "builtins",
    "jax",
    "jax.numpy",
    "jax.random",
    "jaxbits",
    "jaxbits.detect",
    "jaxbits.expect",
    "numpy",
    "numpy.testing",
]


def _functions() -> dict[tuple[str, str], Any]:
    """The functions and classes of the modules that are loaded, by module and name."""
    return {
        (module, name): value
        for module in MODULES
        if module in sys.modules
        for name, value in vars(sys.modules[module]).items()
        if callable(value)
    }


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    """Fail the test that leaves a function of another module replaced or gone; put it back."""
    before = _functions()
    yield
    after = _functions()
    changed = [key for key, value in before.items() if after.get(key) is not value]
    for module, name in changed:
        setattr(sys.modules[module], name, before[module, name])
    assert not changed, f"this test has replaced, and not put back: {changed}"
