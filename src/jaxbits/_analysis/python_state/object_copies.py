"""Copy objects without running the user's code, and decide which objects may be written to.

To find out what a value is used for, the audit puts a different value in its place. It must not do
that inside an object that other code shares, because every cache that sees the object meanwhile
keeps what it computes from the wrong value.
"""

from __future__ import annotations

import collections
import copy
import enum
import types
from collections.abc import Iterable
from typing import Any

from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.object_fields import native_method
from jaxbits._analysis.python_state.references import is_user_class

CONTAINER_TYPES = (list, dict, set, collections.deque)
_SHARED_TYPES = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, enum.Enum)
_HOOKS = ("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__new__")
"""The methods with which a class decides what its copies are."""
_NATIVE_HOOKS = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)


def is_shared(value: Any) -> bool:
    """Return whether other code relies on an object staying as it is.

    Such an object is frozen, or it is its own copy, such as a mesh, an enum member, a module, or
    the only instance of its class. An object also counts if a class in user code decides what its
    copies are, because asking that class would run the user's code.

    >>> import jax
    >>> is_shared(jax.make_mesh((1,), ("batch",))), is_shared(types.SimpleNamespace(rate=0.1))
    (True, False)
    """
    if isinstance(value, _SHARED_TYPES) or is_frozen(value):
        return True
    if not _has_hooks(type(value)):
        return False
    if is_user_class(type(value)):
        return True
    try:
        return copy.copy(value) is value
    except Exception:  # The object cannot be copied at all.
        return True


def is_frozen(value: Any) -> bool:
    """Return whether an object is a frozen dataclass, an enum member, or a Flax linen module."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    is_linen = any(base.__module__.startswith("flax.linen.") for base in type(value).__mro__)
    return is_linen or bool(parameters and parameters.frozen) or isinstance(value, enum.Enum)


def _has_hooks(class_: type) -> bool:
    """Return whether Python code decides what the copies of a class's instances are."""
    namespaces = [vars(owner) for owner in class_.__mro__[:-1]]
    found = [space[hook] for space in namespaces for hook in _HOOKS if hook in space]
    return not all(isinstance(hook, _NATIVE_HOOKS) for hook in found)


def copy_object(value: Any, changes: dict[str, Any]) -> Any:
    """Return a copy of an object with some attributes changed, or None if it must stay as it is.

    The copy is never the object itself, and the two do not share their attributes. No method of a
    class in user code runs.

    Args:
        value: The object.
        changes: The new values of some of its attributes.
    """
    if is_shared(value) or _is_cache_key(type(value)):
        return None
    try:
        duplicate = copy.copy(value) if _has_hooks(type(value)) else _allocate(value)
        attributes = getattr(duplicate, "__dict__", None)
        if attributes is not None and attributes is getattr(value, "__dict__", None):
            return None
        for name, item in {**(object_fields.fields(value) or {}), **changes}.items():
            object_fields.write_field(duplicate, name, item)
    except Exception:  # Leave an object alone if it cannot be copied or modified.
        return None
    return duplicate


def _allocate(value: Any) -> Any:
    """Return a new instance of a value's class without calling the class.

    Raises:
        TypeError: If an extension module defines the class, because its instances may crash Python
            before they are initialized.
    """
    owner: Any = next(k for k in type(value).__mro__ if "__new__" in vars(k))
    if owner.__module__ not in ("builtins", "types", "collections", "_thread"):
        raise TypeError(f"a {owner.__name__} can only be created by its class")
    return owner.__new__(type(value))


def _is_cache_key(class_: type) -> bool:
    """Return whether a library's objects are hashed by value, like the keys of its own caches."""
    owner = next(owner for owner in class_.__mro__ if "__hash__" in vars(owner))
    is_hashed = owner is not object and vars(owner)["__hash__"] is not None
    return is_hashed and not is_user_class(owner)


def copy_container(value: Any, items: Iterable[Any]) -> Any:
    """Return a container of the same type with other items, or None if there is none.

    Args:
        value: A list, dict, set, or deque, or an instance of a subclass.
        items: The items. Those of a dict are pairs of a key and a value.
    """
    try:
        if not is_user_class(type(value)):
            duplicate = copy.copy(value)
        else:
            duplicate = copy_object(value, {})
            if isinstance(value, collections.defaultdict):
                duplicate.default_factory = value.default_factory
    except Exception:
        return None
    if duplicate is None or duplicate is value:
        return None
    fill_container(duplicate, items)
    return duplicate


def fill_container(value: Any, items: Iterable[Any]) -> None:
    """Replace the items of a list, dict, set, or deque, without running methods of a subclass.

    Args:
        value: The container.
        items: The items. Those of a dict are pairs of a key and a value.
    """
    items = list(items)
    native_method(value, "clear")()
    if isinstance(value, dict):
        # The native `update` of an OrderedDict calls `__setitem__` of a subclass.
        set_item = native_method(value, "__setitem__")
        for key, item in items:
            set_item(key, item)
    else:
        native_method(value, "update" if isinstance(value, set) else "extend")(items)


def items_of(value: Any) -> list[Any]:
    """Return the items of a container, without running methods that a subclass defines.

    The items of a dict are pairs of a key and a value.

    >>> items_of({"a": 1}), items_of((1, 2))
    ([('a', 1)], [1, 2])
    """
    iterate = native_method(value, "items" if isinstance(value, dict) else "__iter__")
    return list(iterate())
