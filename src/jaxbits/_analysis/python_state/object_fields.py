"""What holds values besides containers: fields of objects, caches of functions, variables."""

from __future__ import annotations

import contextvars
import functools
import gc
from collections.abc import Callable, Mapping
from typing import Any

Cached = type(functools.lru_cache(lambda: None))
"""The type of what `functools.lru_cache` and `functools.cache` make."""


def fields(value: Any) -> dict[str, Any] | None:
    """Return an object's own attributes, those in slots too; None where it has none.

    >>> import types
    >>> fields(types.SimpleNamespace(a=1)), fields(3)
    ({'a': 1}, None)
    """
    found = getattr(value, "__dict__", None)
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    if not isinstance(found, dict):
        return {name: getattr(value, name) for name in slots if hasattr(value, name)} or None
    return {**found, **{name: getattr(value, name) for name in slots if hasattr(value, name)}}


def _slots(kind: type) -> tuple[str, ...]:
    given = vars(kind).get("__slots__", ())
    names = (given,) if isinstance(given, str) else tuple(given)
    private = f"_{kind.__name__.lstrip('_')}"
    made = (private + n if n.startswith("__") and not n.endswith("__") else n for n in names)
    return tuple(name for name in made if name not in ("__dict__", "__weakref__"))


def put_back_fields(value: Any, before: Mapping[str, Any]) -> None:
    """Give an object the attributes that it had."""
    own = getattr(value, "__dict__", None)
    own = own if isinstance(own, dict) else {}
    for name in (fields(value) or {}).keys() - before.keys():
        if name in own:
            del own[name]
        else:
            delattr(value, name)
    for name, part in before.items():
        if name in own or not hasattr(type(value), name):
            own[name] = part
        else:
            object.__setattr__(value, name, part)


def computed_once(value: Any, name: str) -> bool:
    """Whether an attribute is filled by `functools.cached_property`, on its first use."""
    kinds = (vars(kind) for kind in type(value).__mro__)
    return isinstance(next((k[name] for k in kinds if name in k), None), functools.cached_property)


def cached(function: Callable[..., Any]) -> list[Any]:
    """Return the results that `functools.lru_cache` keeps for a function.

    Python has no way to ask for them; its garbage collector is told.

    >>> @functools.cache
    ... def twice(n):
    ...     return [2 * n]
    >>> _ = twice(3)
    >>> [2 * 3] in cached(twice)
    True
    """
    own = vars(function)
    held = [part for part in gc.get_referents(function) if part is not own]
    kept = [part for part in held if not isinstance(part, (dict, type))]
    return kept + [v for part in held if isinstance(part, dict) for v in part.values()]


def contents(value: Any) -> Any:
    """Return what a cache or a context's variable holds; None for all else."""
    if isinstance(value, Cached):
        return tuple(cached(value))
    if isinstance(value, contextvars.ContextVar):
        return (value.get(None),)
    return None


def put_back(value: Any, before: Any) -> None:
    """Put a context's variable back; empty a cache, which cannot forget a part."""
    if isinstance(value, contextvars.ContextVar):
        value.set(before[0])
    else:
        value.cache_clear()
