"""Functions that read and restore the settings of `jax.config` and enable 64-bit dtypes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import jax


def x64_on() -> AbstractContextManager[Any]:
    """Return a context in which 64-bit dtypes are enabled.

    JAX 0.10.2 and 0.12 have `jax.enable_x64`, and earlier versions have
    `jax.experimental.enable_x64`: https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/config.py

    >>> with x64_on():
    ...     str(jax.numpy.arange(2).dtype)
    'int64'
    """
    enable_x64: Any = getattr(jax, "enable_x64", None)
    if enable_x64 is None:
        enable_x64 = importlib.import_module("jax.experimental").enable_x64
    context: AbstractContextManager[Any] = enable_x64(True)
    return context


def config_values() -> dict[str, Any]:
    """Return all settings of `jax.config`, keyed by name.

    The result is empty without the property `values`, which exists in JAX 0.7.2 through 0.12:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/config.py
    """
    return dict(getattr(jax.config, "values", None) or {})


def set_config(values: Mapping[str, Any]) -> None:
    """Restore earlier settings of `jax.config`.

    This works in every version of JAX in which `config_values` returns the settings.
    """
    current = config_values()
    for name, value in values.items():
        if current.get(name) is not value and current.get(name) != value:
            jax.config.update(name, value)
