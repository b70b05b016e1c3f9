"""What a test changes for the whole process it undoes, or it has failed, and not the next one.

Which tests share a process depends on how fast they are. Tests here run answers of students who
replace functions of NumPy, JAX and ``jaxbits.testing``, and switch JAX's settings.
"""

from __future__ import annotations

import os
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
    "jaxbits.testing",
    "numpy",
    "numpy.testing",
]
# What pytest itself says of where it is.
PYTESTS_OWN = {"PYTEST_CURRENT_TEST"}


def _functions() -> dict[tuple[str, str], Any]:
    """The functions and classes of the modules that are loaded, by module and name."""
    return {
        (module, name): value
        for module in MODULES
        if module in sys.modules
        for name, value in vars(sys.modules[module]).items()
        if callable(value)
    }


def _settings() -> dict[str, Any]:
    """JAX's settings, where it is loaded, and the environment's variables."""
    jax = sys.modules.get("jax")
    own = {f"${k}": v for k, v in os.environ.items() if k not in PYTESTS_OWN}
    return own | (dict(jax.config.values) if hasattr(jax, "config") else {})


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    """Fail the test that leaves a function, a setting or a folder changed; put functions back."""
    functions, settings, folder = _functions(), _settings(), os.getcwd()
    yield
    after = _functions()
    changed = [key for key, value in functions.items() if after.get(key) is not value]
    for module, name in changed:
        setattr(sys.modules[module], name, functions[module, name])
    assert not changed, f"this test has replaced, and not put back: {changed}"
    now = _settings()
    # Settings that were not there came with JAX, or with a part of it.
    switched = {k: (v, now.get(k)) for k, v in settings.items() if now.get(k) != v}
    assert not switched, f"this test has switched, and not back: {switched}"
    assert os.getcwd() == folder, f"this test has left {folder} for {os.getcwd()}"
