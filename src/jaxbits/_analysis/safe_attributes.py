"""Look up attributes of objects whose classes may raise any error when an attribute is missing.

For example, the `__getattr__` of a small framework's module may raise a KeyError, which `hasattr`,
`getattr` with a default, and `inspect.unwrap` pass on.
"""

from __future__ import annotations

import inspect
from typing import Any

_MISSING = object()


def get_attribute(value: Any, name: str, default: Any = None) -> Any:
    """Return an object's attribute, or the default if looking it up raises any error.

    >>> class Parameters(dict):
    ...     __getattr__ = dict.__getitem__
    >>> get_attribute(Parameters(w=1), "w"), get_attribute(Parameters(w=1), "dtype")
    (1, None)
    """
    try:
        return getattr(value, name)
    except Exception:
        return default


def has_attribute(value: Any, name: str) -> bool:
    """Return whether an object has an attribute, and looking it up raises no error."""
    return get_attribute(value, name, _MISSING) is not _MISSING


def unwrap(function: Any) -> Any:
    """Return the function inside all wrappers, or the object itself if it cannot be unwrapped.

    >>> import functools
    >>> unwrap(functools.lru_cache(len)), unwrap(3)
    (<built-in function len>, 3)
    """
    try:
        return inspect.unwrap(function)
    except Exception:
        return function
