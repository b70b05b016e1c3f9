"""Check whether an object is a function that an audit can call."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from jaxbits._analysis.safe_attributes import unwrap


def check_function(function: Any) -> None:
    """Raise TypeError if an object is neither a plain function nor a callable that acts as one."""
    if not callable(function):
        raise TypeError(f"fn must be a function, got {type(function).__name__}")
    inner = function if isinstance(function, functools.partial) else unwrap(function)
    if not inspect.isroutine(inner) and not isinstance(inner, (type, functools.partial)):
        inner = getattr(inner, "__call__", inner)  # noqa: B004 - the method itself is needed
    if inspect.isgeneratorfunction(inner):
        raise TypeError("fn must return its results, got a generator function")
    if inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner):
        raise TypeError("fn must be a plain function, got an async function")
