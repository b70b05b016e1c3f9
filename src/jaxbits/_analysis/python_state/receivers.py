"""Decide whether a method call in the source mutates the object that it is called on."""

from __future__ import annotations

import collections
import collections.abc
import inspect
import types
from typing import Any

import numpy as np

from jaxbits._analysis.python_state.object_copies import items_of
from jaxbits._analysis.python_state.references import ABSENT
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
            found = [_attribute(holder, step) for holder in found]
        found = [value for value in found if value is not ABSENT]
    # The object may not exist yet, for example if a dictionary is still empty.
    return not found or any(isinstance(receiver, _CONTAINERS) for receiver in found)


def _items(holder: Any) -> list[Any]:
    if isinstance(holder, dict):
        return [item for _, item in items_of(holder)][:_MAX_ITEMS]
    return items_of(holder)[:_MAX_ITEMS] if isinstance(holder, (list, tuple)) else []


def _attribute(holder: Any, name: str) -> Any:
    """Return an attribute, the descriptor that computes it, or `ABSENT` if there is none.

    A user's property does not run, because it may change its object.
    """
    found = inspect.getattr_static(holder, name, ABSENT)
    is_native = isinstance(found, (types.MemberDescriptorType, types.GetSetDescriptorType))
    is_field = isinstance(holder, tuple) and name in getattr(type(holder), "_fields", ())
    if not is_native and not is_field:
        return found
    try:
        return getattr(holder, name)
    except Exception:  # The slot is empty.
        return ABSENT
