"""Settings of `jax.config`, and the record of the error-checking settings."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import jax


def x64_on() -> AbstractContextManager[Any]:
    """Return a context in which 64-bit dtypes are enabled.

    JAX 0.10.2 and 0.12 offer `jax.enable_x64`, earlier versions
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
    """Return all settings of `jax.config` by name.

    The property `values` exists in JAX 0.7.2 through 0.12; without it, the result is empty:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/config.py
    """
    return dict(getattr(jax.config, "values", None) or {})


def set_config(values: Mapping[str, Any]) -> None:
    """Restore settings of `jax.config` that have changed.

    For all versions in which `config_values` returns them.
    """
    current = config_values()
    for name, value in values.items():
        if current.get(name) is not value and current.get(name) != value:
            jax.config.update(name, value)


@contextmanager
def switched(name: str, value: Any) -> Iterator[bool]:
    """Change a setting of `jax.config` inside the block, and restore its value afterward.

    Some settings are newer than the oldest JAX that this book supports. The block runs unchanged
    if this JAX does not have the setting.

    Args:
        name: The setting, such as ``"jax_check_static_indices"``, which JAX has since 0.8.2.
        value: Its value inside the block.

    Yields:
        Whether this JAX has the setting.

    >>> import jax
    >>> with switched("jax_debug_nans", True) as has_switch:
    ...     has_switch, jax.config.jax_debug_nans
    (True, True)
    >>> jax.config.jax_debug_nans
    False
    """
    before = config_values()
    if name not in before:
        yield False
        return
    jax.config.update(name, value)
    try:
        yield True
    finally:
        jax.config.update(name, before[name])


def recorded_error() -> str | None:
    """Return the message that JAX's error-checking settings recorded, and clear the record.

    The settings are `jax_error_checking_behavior_nan`, `_oob`, and `_divide`. The only function
    that reads their record is `raise_if_error`, which no public module of JAX 0.7.2, 0.10.2, or
    0.12.0.1 offers: https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/error_check.py

    Returns:
        The message of the first error since the last call. None if there was no error, or if this
        JAX keeps no record.

    >>> import jax
    >>> with switched("jax_error_checking_behavior_nan", "raise"):
    ...     _ = jax.numpy.log(-1.0)
    >>> recorded_error(), recorded_error()
    ('NaN encountered', None)
    """
    try:
        from jax._src.error_check import raise_if_error
    except ImportError:
        return None
    try:
        raise_if_error()
    except ValueError as error:
        return str(error)
    return None
