"""Read and write the attributes of objects, without running code that their classes define."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from typing import Any

_EXCEPTION_FIELDS = ("args", "__cause__", "__context__", "__suppress_context__")
_NATIVE_TYPES = (types.WrapperDescriptorType, types.MethodDescriptorType)


def native_method(value: Any, name: str) -> Any:
    """Return a method of a value as Python itself implements it, even if its class overrides it.

    An override may have side effects. The native method of the class itself is not enough, because
    `object.__setattr__` refuses instances of classes whose base defines the method in C:
    https://github.com/python/cpython/blob/v3.11.9/Objects/typeobject.c

    Raises:
        AttributeError: If no class of the value defines the method in C.

    >>> class Log(list):
    ...     def append(self, item):
    ...         print("appended")
    >>> log = Log()
    >>> native_method(log, "append")(1)
    >>> log
    [1]
    """
    for owner in type(value).__mro__:
        method = vars(owner).get(name)
        if isinstance(method, _NATIVE_TYPES):
            return method.__get__(value)
    raise AttributeError(f"a {type(value).__name__} has no native method {name}")


def fields(value: Any) -> dict[str, Any] | None:
    """Return an object's own attributes, including those in slots, or None if it has none.

    >>> import types
    >>> fields(types.SimpleNamespace(a=1)), fields(3)
    ({'a': 1}, None)
    >>> sorted(fields(ValueError()))
    ['__cause__', '__context__', '__suppress_context__', 'args']
    """
    attributes = attribute_dict(value)
    found = dict(attributes or {})
    for name, slot in _slots(type(value)).items():
        if name not in found:
            try:
                found[name] = slot.__get__(value)
            except AttributeError:  # The slot is empty.
                continue
    return found if found or attributes is not None else None


def attribute_dict(value: Any) -> dict[str, Any] | None:
    """Return an object's `__dict__`, or None if it has none that can be written to."""
    try:
        attributes = native_method(value, "__getattribute__")("__dict__")
    except Exception:  # A user's class may define `__dict__` as a property.
        return None
    return attributes if isinstance(attributes, dict) else None


def _slots(class_: type) -> dict[str, Any]:
    """Return the descriptors of the slots that a class and its bases declare, keyed by name.

    An exception stores its arguments and the exceptions before it in the same way.
    """
    found: dict[str, Any] = {}
    if issubclass(class_, BaseException):
        found.update((name, vars(BaseException)[name]) for name in _EXCEPTION_FIELDS)
    for owner in class_.__mro__:
        declared = vars(owner).get("__slots__", ())
        private = f"_{owner.__name__.lstrip('_')}"
        for name in (declared,) if isinstance(declared, str) else tuple(declared):
            is_private = name.startswith("__") and not name.endswith("__")
            mangled = private + name if is_private else name
            slot = vars(owner).get(mangled)
            if isinstance(slot, types.MemberDescriptorType):
                found.setdefault(mangled, slot)
    return found


def read_field(value: Any, name: str, default: Any = None) -> Any:
    """Return one of an object's own attributes, or a default if the object lacks it."""
    attributes = attribute_dict(value) or {}
    if name in attributes:
        return attributes[name]
    slot = _slots(type(value)).get(name)
    try:
        return default if slot is None else slot.__get__(value)
    except AttributeError:  # The slot is empty.
        return default


def write_field(value: Any, name: str, item: Any) -> None:
    """Set an attribute even if the object's class is frozen or defines its own `__setattr__`.

    >>> import threading
    >>> class Stack(threading.local):
    ...     depth = 1
    >>> stack = Stack()
    >>> write_field(stack, "depth", 2)
    >>> stack.depth
    2
    """
    slot = _slots(type(value)).get(name)
    attributes = attribute_dict(value)
    if isinstance(value, type):  # The `__dict__` of a class is read-only.
        native_method(value, "__setattr__")(name, item)
    elif attributes is not None and (slot is None or name in attributes):
        attributes[name] = item
    elif slot is not None:
        slot.__set__(value, item)
    else:
        raise AttributeError(f"a {type(value).__name__} has no attribute {name}")


def delete_field(value: Any, name: str) -> None:
    """Delete an attribute, if the object has it, even if its class defines `__delattr__`."""
    attributes = attribute_dict(value) or {}
    if isinstance(value, type):
        if name in vars(value):
            native_method(value, "__delattr__")(name)
    elif name in attributes:
        del attributes[name]
    elif name in (fields(value) or {}):
        _slots(type(value))[name].__delete__(value)


def restore_fields(value: Any, before: Mapping[str, Any]) -> None:
    """Restore an object's earlier attributes.

    Args:
        value: The object to restore.
        before: Its attributes, as returned by `fields`.
    """
    current = fields(value) or {}
    for name in current.keys() - before.keys():
        delete_field(value, name)
    for name, item in before.items():
        if name not in current or current[name] is not item:
            write_field(value, name, item)


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
