"""Helpers for JAX's experimental error-checking switches, which some versions lack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

from jaxbits._jax_compat import config_values


@contextmanager
def switched(name: str, value: Any) -> Iterator[bool]:
    """Set a switch of `jax.config` inside a ``with`` block, and restore its value afterward.

    If the installed JAX does not have the switch, the block runs unchanged.

    Args:
        name: The name of the switch, such as ``"jax_check_static_indices"``, which JAX 0.8.2 added.
        value: The value that the switch has inside the block.

    Yields:
        Whether the installed JAX has the switch.

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
    """Return the message that JAX's error-checking switches recorded, and clear the record.

    The switches are `jax_error_checking_behavior_nan`, `_oob`, and `_divide`. In JAX 0.7.2,
    0.10.2, and 0.12.0, no public function reads the record, so this one calls a private function:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/error_check.py

    Returns:
        The message of the first error since the last call, or None if there was no error or if the
        installed JAX keeps no record.

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
