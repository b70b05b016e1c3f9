"""Fail a test that leaves functions, settings, or the working directory changed.

Which tests share a process depends on how fast they run, so such a change would make other tests
fail at random. For example, some tests run student answers that replace NumPy or JAX functions or
change JAX's settings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

GUARDED_MODULES = [
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
# pytest itself changes this environment variable for every test.
IGNORED_VARIABLES = {"PYTEST_CURRENT_TEST"}


def _functions() -> dict[tuple[str, str], Any]:
    """Return the guarded modules' functions and classes, keyed by module and name."""
    return {
        (module, name): value
        for module in GUARDED_MODULES
        if module in sys.modules
        for name, value in vars(sys.modules[module]).items()
        if callable(value)
    }


def _settings() -> dict[str, Any]:
    """Return the environment variables and, if JAX is loaded, its settings."""
    jax = sys.modules.get("jax")
    variables = {f"${k}": v for k, v in os.environ.items() if k not in IGNORED_VARIABLES}
    return variables | (dict(jax.config.values) if hasattr(jax, "config") else {})


@pytest.fixture(autouse=True)
def global_state_guard() -> Iterator[None]:
    """Restore the functions that a test replaced, and fail the test if it changed global state."""
    functions, settings, folder = _functions(), _settings(), os.getcwd()
    yield
    after = _functions()
    replaced = [key for key, value in functions.items() if after.get(key) is not value]
    for module, name in replaced:
        setattr(sys.modules[module], name, functions[module, name])
    assert not replaced, f"the test replaced functions without restoring them: {replaced}"
    now = _settings()
    # A test may import JAX or a part of it, which adds settings.
    changed = {k: (v, now.get(k)) for k, v in settings.items() if now.get(k) != v}
    assert not changed, f"the test changed settings without restoring them: {changed}"
    assert os.getcwd() == folder, (
        f"the test changed the working folder from {folder} to {os.getcwd()}"
    )
