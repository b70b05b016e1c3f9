"""Read and restore the values in object attributes, function caches, and context variables."""

from __future__ import annotations

import contextvars
import functools
import gc
import types
from collections.abc import Callable, Mapping
from typing import Any

LruCache = type(functools.lru_cache(lambda: None))
"""The type of functions decorated with `functools.lru_cache` or `functools.cache`."""


def fields(value: Any) -> dict[str, Any] | None:
    """Return an object's own attributes, including those in slots, or None if it has none.

    >>> import types
    >>> fields(types.SimpleNamespace(a=1)), fields(3)
    ({'a': 1}, None)
    """
    attributes = getattr(value, "__dict__", None)
    slots = [name for class_ in type(value).__mro__ for name in _slots(class_)]
    if not isinstance(attributes, dict):
        return {name: getattr(value, name) for name in slots if hasattr(value, name)} or None
    return {**attributes, **{name: getattr(value, name) for name in slots if hasattr(value, name)}}


def _slots(class_: type) -> tuple[str, ...]:
    declared = vars(class_).get("__slots__", ())
    names = (declared,) if isinstance(declared, str) else tuple(declared)
    private = f"_{class_.__name__.lstrip('_')}"
    mangled = (private + n if n.startswith("__") and not n.endswith("__") else n for n in names)
    return tuple(name for name in mangled if name not in ("__dict__", "__weakref__"))


def set_attribute(value: Any, name: str, item: Any) -> None:
    """Set an attribute even if the object's class is frozen or defines its own `__setattr__`.

    `object.__setattr__` refuses instances of classes whose base defines the method in C:
    https://github.com/python/cpython/blob/v3.11.9/Objects/typeobject.c

    >>> import threading
    >>> class Stack(threading.local):
    ...     depth = 1
    >>> stack = Stack()
    >>> set_attribute(stack, "depth", 2)
    >>> stack.depth
    2
    """
    for class_ in type(value).__mro__:
        setter = vars(class_).get("__setattr__")
        if isinstance(setter, types.WrapperDescriptorType):
            setter(value, name, item)
            return


def restore_fields(value: Any, before: Mapping[str, Any]) -> None:
    """Restore an object's earlier attributes.

    Args:
        value: The object to restore.
        before: Its attributes, as returned by `fields`.
    """
    attributes = getattr(value, "__dict__", None)
    attributes = attributes if isinstance(attributes, dict) else {}
    for name in (fields(value) or {}).keys() - before.keys():
        if name in attributes:
            del attributes[name]
        else:
            delattr(value, name)
    for name, item in before.items():
        if name in attributes or not hasattr(type(value), name):
            attributes[name] = item
        else:
            set_attribute(value, name, item)


def is_cached_property(value: Any, name: str) -> bool:
    """Return whether an attribute is a `functools.cached_property`, which is filled on first use.

    Args:
        value: The object that has the attribute.
        name: The name of the attribute.
    """
    namespaces = (vars(class_) for class_ in type(value).__mro__)
    return isinstance(
        next((k[name] for k in namespaces if name in k), None), functools.cached_property
    )


def cached_results(function: Callable[..., Any]) -> list[Any]:
    """Return the results that `functools.lru_cache` stores for a function.

    Python has no function that lists these results, but its garbage collector knows which objects
    the cache refers to.

    >>> @functools.cache
    ... def twice(n):
    ...     return [2 * n]
    >>> _ = twice(3)
    >>> [2 * 3] in cached_results(twice)
    True
    """
    attributes = vars(function)
    held = [item for item in gc.get_referents(function) if item is not attributes]
    results = [item for item in held if not isinstance(item, (dict, type))]
    return results + [v for item in held if isinstance(item, dict) for v in item.values()]


def held_values(value: Any) -> Any:
    """Return what a cache or context variable holds, or None for any other value."""
    if isinstance(value, LruCache):
        return tuple(cached_results(value))
    if isinstance(value, contextvars.ContextVar):
        return (value.get(None),)
    return None


def restore_held_values(value: Any, before: Any) -> None:
    """Restore a context variable, or clear a cache, whose entries cannot be removed one by one.

    Args:
        value: The context variable or cached function.
        before: What `held_values` returned.
    """
    if isinstance(value, contextvars.ContextVar):
        value.set(before[0])
    else:
        value.cache_clear()
