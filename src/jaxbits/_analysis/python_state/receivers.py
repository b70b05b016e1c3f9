"""Decide whether a method call in the source mutates the object that it is called on."""

from __future__ import annotations

import collections
import collections.abc
from typing import Any

import numpy as np

from jaxbits._analysis.source.name_bindings import ITEM, BindingEvent

_CONTAINERS = (
    np.ndarray,
    collections.deque,
    collections.abc.MutableMapping,
    collections.abc.MutableSequence,
    collections.abc.MutableSet,
)
_MAX_ITEMS = 20


def is_mutated_by(value: Any, event: BindingEvent) -> bool:
    """Return whether a method call mutates its object, judging by the type of the object.

    Methods such as `update` and `add` mutate containers. Other objects, such as an optimizer, may
    have a method with the same name that only returns a new value. If such a method does change its
    object, the source of the object's class shows it.

    Args:
        value: The current value of the name or attribute in the event.
        event: An event with a method.

    >>> event = BindingEvent("change", "x", 1, None, (), method="update", path=("rates",))
    >>> import types
    >>> is_mutated_by(types.SimpleNamespace(rates={"a": 1.0}), event)
    True
    >>> is_mutated_by(types.SimpleNamespace(rates=(1.0, 2.0)), event)
    False
    """
    found = [value]
    for step in event.path:
        if step == ITEM:
            found = [item for holder in found for item in _items(holder)]
        else:
            found = [getattr(holder, step) for holder in found if _has(holder, step)]
    # The object may not exist yet, for example if a dictionary is still empty.
    return not found or any(isinstance(receiver, _CONTAINERS) for receiver in found)


def _items(holder: Any) -> list[Any]:
    if isinstance(holder, dict):
        return list(holder.values())[:_MAX_ITEMS]
    return list(holder[:_MAX_ITEMS]) if isinstance(holder, (list, tuple)) else []


def _has(holder: Any, name: str) -> bool:
    try:
        return hasattr(holder, name)
    except Exception:  # A user-defined property may raise any error.
        return False
