"""Walk from a function to the functions, methods, and objects that it uses."""

from __future__ import annotations

import collections
import contextlib
import functools
import inspect
import random
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from jaxbits._analysis.code_location import (
    CodeLocation,
    is_user_code,
    location_of_code,
    location_of_function,
)
from jaxbits._analysis.python_state import held_values, object_copies, object_fields
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import (
    Reference,
    attribute_names,
    global_name,
    global_names,
    is_python_function,
    is_user_class,
    is_user_object,
    stored_attributes,
    stored_globals,
)
from jaxbits._analysis.python_state.state_values import BUFFER_TYPES
from jaxbits._analysis.python_state.use_lines import first_use_line
from jaxbits._analysis.safe_attributes import get_attribute, unwrap

_MAX_FUNCTIONS, _MAX_ITEMS, _MAX_WRAPPERS = 500, 100, 50
_MAX_LIBRARY_FUNCTIONS = 200
"""The number of library functions whose closures are searched for the user's functions."""
_CONSTRUCTION = {"__init__", "__new__", "__post_init__"}
_NEVER_IN_TRACE = {"__repr__", "__str__", "__class__", "__eq__", "__hash__", "__wrapped__"}
_NEVER_IN_TRACE |= {*_CONSTRUCTION, "__init_subclass__"}
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
# Methods of objects that are written in C, such as `seen.append` or `counter.__next__`.
_BOUND_IN_C = (types.BuiltinFunctionType, types.MethodWrapperType)
_MUTABLE_TYPES = (list, dict, set, collections.deque, np.ndarray, *GENERATORS)


class StateWalk:
    """A walk over the Python state that a function reaches.

    Attributes:
        references: The references found so far, keyed by kind, holder, and key.
        functions: The user's functions that were visited.
        waiting: The functions that have yet to be visited.
    """

    def __init__(self, *functions: Any) -> None:
        self.references: dict[tuple[Any, ...], Reference] = {}
        self.functions: list[types.FunctionType] = []
        self.waiting: list[Any] = list(functions)
        self._seen: set[tuple[int, int]] = set()
        self._seen_library: set[int] = set()
        self._code: types.CodeType | None = None

    def run(self) -> None:
        """Visit the function and everything that it uses, up to a total of 500 functions."""
        while self.waiting and len(self._seen) < _MAX_FUNCTIONS:
            function = self.waiting.pop()
            instance = None
            if inspect.ismethod(function):
                instance, function = function.__self__, function.__func__
            for layer in _wrapped_layers(function):
                if isinstance(layer, functools.partial):
                    self.waiting.append(layer.func)
                    self._visit_partial(layer)
                elif inspect.ismethod(layer):
                    self.waiting.append(layer)
                else:
                    self._visit(layer, instance)

    def add_class_attributes(self, class_: type) -> None:
        """Add the attributes of a class that the visited functions set on it."""
        for function in self.functions:
            self._code = function.__code__
            self._add_stored_attributes(class_, location_of_code(self._code))

    def _visit(self, function: Any, instance: Any) -> None:
        """Visit a function or a callable object."""
        if isinstance(function, held_values.LruCache):
            name = get_attribute(function, "__name__", "cache")
            self._add("cache", name, function, None, location_of_function(function))
        if isinstance(function, types.FunctionType):
            key = (id(function), id(instance))
            if key in self._seen:
                return
            if not is_user_code(function.__code__.co_filename):
                self._visit_library_closure(function)
                return
            self._seen.add(key)
            self.functions.append(function)
            if instance is not None and not isinstance(instance, types.ModuleType):
                self._visit_instance(instance, function)
            self._visit_function(function)
            return
        call = getattr(type(function), "__call__", None)  # noqa: B004 - the function is needed
        if isinstance(call, types.FunctionType) and is_user_code(call.__code__.co_filename):
            self.waiting.append(types.MethodType(call, function))

    def _visit_library_closure(self, function: types.FunctionType) -> None:
        """Visit the functions that a library's function closes over, such as a transformed one."""
        if id(function) in self._seen_library or len(self._seen_library) >= _MAX_LIBRARY_FUNCTIONS:
            return
        self._seen_library.add(id(function))
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # The closure cell may not have a value yet.
                value = cell.cell_contents
                parts = value if isinstance(value, tuple) else (value,)
                self.waiting += [part for part in parts if is_python_function(part)]

    def _visit_function(self, function: types.FunctionType) -> None:
        """Add the globals, closure cells, and defaults that a function uses."""
        code = self._code = function.__code__
        location = location_of_code(code)
        scope, used = function.__globals__, set(attribute_names(code))
        for name in global_names(code):
            if name in scope:
                self._add_value("global", name, scope, name, scope[name], used, location)
            elif name in stored_globals(code):
                self._add("global", name, scope, name, location)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # The closure cell may not have a value yet.
                continue
            self._add_value("closure", name, cell, 0, value, used, location)
        defaults = function.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount][-len(defaults) :] if defaults else ()
        for index, name in enumerate(names):
            value = defaults[index]
            self._add_value("default", name, defaults, index, value, used, location)
        named = function.__kwdefaults__ or {}
        for name, value in named.items():
            self._add_value("default", name, named, name, value, used, location)

    def _visit_instance(self, instance: Any, function: types.FunctionType) -> None:
        """Add the object or class that a method is bound to, and the attributes that it uses."""
        code = self._code = function.__code__
        location = location_of_code(code)
        names = set(attribute_names(code))
        if isinstance(instance, type):
            name = instance.__name__
            self._add_value("class", name, instance, None, instance, names, location)
            return
        self._visit_methods(instance, names)
        self._add("object", "self", instance, None, location)
        attributes = object_fields.fields(instance) or {}
        for name in sorted(names):
            if name in attributes:
                if is_python_function(attributes[name]):
                    self.waiting.append(attributes[name])
                self._add("attribute", f"self.{name}", instance, name, location)
                self._visit_contents(attributes[name], names)
                continue
            owner = next((k for k in type(instance).__mro__ if name in vars(k)), None)
            if owner is not None and is_user_class(owner):
                self._add_attributes("class attribute", owner, {name}, location)
        self._add_stored_attributes(type(instance), location)

    def _visit_partial(self, function: functools.partial[Any]) -> None:
        """Add the mutable arguments that a `functools.partial` holds."""
        code = get_attribute(unwrap(function.func), "__code__")
        used = set(attribute_names(code)) if code else set()
        location = location_of_function(function.func)
        self._add("argument", "keywords of a partial", function.keywords, None, location)
        if isinstance(function.func, _BOUND_IN_C):
            self._add_owner(f"{function.func.__name__} of a partial", function.func, location)
        bound: list[tuple[int | str, Any]] = [*enumerate(function.args), *function.keywords.items()]
        for key, value in bound:
            if is_python_function(value):
                self.waiting.append(value)
            elif isinstance(value, _MUTABLE_TYPES) or is_user_object(value) or is_iterator(value):
                label = f"{key} of a partial" if isinstance(key, int) else key
                self._add("argument", label, value, None, location)
                name = global_name(value, function.func) or _parameter_name(code, key)
                self._add("bound argument", name, function, key, location)
                self._visit_contents(value, used)

    def _visit_contents(self, value: Any, used: set[str]) -> None:
        """Visit the methods of an object, or the functions in a container."""
        if isinstance(value, (list, tuple, dict)):
            items = object_copies.items_of(value)[:_MAX_ITEMS]
            for item in (item for _, item in items) if isinstance(value, dict) else items:
                if is_python_function(item):
                    self.waiting.append(item)
                elif is_user_class(type(item)):
                    self._visit_methods(item, used)
        elif is_user_class(type(value)):
            self._visit_methods(value, used)
            if self._code is not None:
                self._add_stored_attributes(type(value), location_of_code(self._code))
        else:  # A library's object may hold functions of the user.
            held = getattr(value, "__dict__", None)
            members = map(held.get, sorted(used & held.keys())) if isinstance(held, dict) else ()
            self.waiting += [member for member in members if is_python_function(member)]

    def _visit_methods(self, instance: Any, names: set[str]) -> None:
        for name in names | _implicit_methods(type(instance)):
            method = inspect.getattr_static(type(instance), name, None)
            method = getattr(method, "fget", None) or getattr(method, "func", None) or method
            if isinstance(method, (classmethod, staticmethod)):
                self.waiting.append(method.__get__(instance, type(instance)))
            elif is_python_function(method):
                self.waiting.append(types.MethodType(method, instance))

    def _visit_class(self, class_: type, names: set[str]) -> None:
        """Visit the methods that may run if the function creates an instance of a class."""
        for name in names | _implicit_methods(class_) | _CONSTRUCTION:
            method = inspect.getattr_static(class_, name, None)
            if isinstance(method, (classmethod, staticmethod)):
                self.waiting.append(method.__get__(None, class_))
            elif isinstance(method, types.FunctionType):
                self.waiting.append(method)
                data = set(attribute_names(method.__code__)) & set(vars(class_))
                location = location_of_function(method)
                if location:
                    self._add_attributes("class attribute", class_, data, location)

    def _add_value(
        self,
        kind: str,
        name: str,
        holder: Any,
        key: Any,
        value: Any,
        used: set[str],
        location: CodeLocation,
    ) -> None:
        """Add a value, or what it leads to, depending on its type.

        Data is added directly. For a function or class, the walk instead adds what its code uses,
        and for a module, the attributes that are used.
        """
        if isinstance(value, types.ModuleType):
            if is_user_code(getattr(value, "__file__", None) or ""):
                names = used & set(vars(value))
                self._add_attributes("class attribute", value, names, location)
                members = [vars(value).get(n) for n in used]
                self.waiting += [v for v in members if is_python_function(v)]
                for member in members:
                    if isinstance(member, type) and is_user_class(member):
                        self._visit_class_data(member, used, location)
        elif isinstance(value, type):
            if is_user_class(value):
                self._visit_class(value, used)
                self._visit_class_data(value, used, location)
        elif is_python_function(value):
            self.waiting.append(value)
            self._add(kind, name, holder, key, location)
            if isinstance(value, types.FunctionType) and is_user_code(value.__code__.co_filename):
                names = used | set(vars(value))
                self._add_attributes("function attribute", value, names, location)
        elif isinstance(value, _BOUND_IN_C):
            self._add_owner(name, value, location)
        else:
            self._add(kind, name, holder, key, location)
            self._visit_contents(value, used)

    def _add_owner(self, name: str, method: Any, location: CodeLocation | None) -> None:
        """Add the object whose method has a name of its own, as in `add = seen.append`."""
        owner = method.__self__
        if isinstance(owner, (*_MUTABLE_TYPES, *BUFFER_TYPES)) or is_iterator(owner):
            self._add("owner", name, owner, None, location)

    def _visit_class_data(self, class_: type, used: set[str], location: CodeLocation) -> None:
        """Add the data in a class, in its bases, and in the classes nested inside it."""
        for owner in class_.__mro__:
            if is_user_class(owner):
                names = used & set(vars(owner))
                self._add_attributes("class attribute", owner, names, location)
                for member in (vars(owner)[name] for name in sorted(names)):
                    if isinstance(member, type) and is_user_class(member) and member is not owner:
                        self._visit_class_data(member, used - names, location)
        self._add_stored_attributes(class_, location)

    def _add_stored_attributes(self, class_: type, location: CodeLocation) -> None:
        """Add the attributes that the code sets and that the class may not have yet."""
        if self._code is None or not is_user_object(class_):
            return
        for name in sorted(stored_attributes(self._code) - set(vars(class_))):
            if not name.startswith("__"):
                label = f"{class_.__name__}.{name}"
                self._add("class attribute", label, class_, name, location)

    def _add_attributes(
        self, kind: str, holder: Any, names: set[str], location: CodeLocation
    ) -> None:
        for name in sorted(names):
            value = inspect.getattr_static(holder, name, None)
            if name.startswith("__") or isinstance(value, (property, staticmethod, classmethod)):
                continue
            if not is_python_function(value) and not isinstance(value, (type, types.ModuleType)):
                self._add(kind, f"{holder.__name__}.{name}", holder, name, location)

    def _add(
        self, kind: str, name: str, holder: Any, key: Any, location: CodeLocation | None
    ) -> None:
        code, stored_at = self._code, None
        start = (code.co_filename, code.co_firstlineno) if code else None
        if location and code and (location.file, location.line) == start:
            # The line that uses the name is more helpful than the function's first line.
            used = location
            location = replace(used, line=first_use_line(code, kind, name) or used.line)
            store = first_use_line(code, kind, name, stores_only=True)
            stored_at = replace(used, line=store) if store else None
        reference = Reference(kind, name, holder, key, location, code, stored_at)
        known = self.references.setdefault((kind, id(holder), key), reference)
        if stored_at and not known.stored_at:
            self.references[kind, id(holder), key] = replace(known, stored_at=stored_at)


def methods_of(class_: type) -> Iterator[Any]:
    """Yield the methods of a class that may run in a trace, and those of its bases in user code."""
    for owner in class_.__mro__:
        if is_user_class(owner):
            for name in vars(owner).keys() - _NEVER_IN_TRACE:
                method = inspect.getattr_static(owner, name, None)
                method = getattr(method, "fget", None) or getattr(method, "func", None) or method
                if isinstance(method, (classmethod, staticmethod)):
                    yield method.__get__(None, class_)
                elif is_python_function(method):
                    yield method


def _parameter_name(code: types.CodeType | None, key: int | str) -> str:
    """Return the name of the parameter that a `functools.partial` binds."""
    names = code.co_varnames[: code.co_argcount] if code else ()
    return names[key] if isinstance(key, int) and key < len(names) else str(key)


def _implicit_methods(class_: type) -> set[str]:
    """Return the special methods of a user's class, which Python may call implicitly."""
    owners = (k for k in class_.__mro__ if is_user_class(k))
    names = (name for owner in owners for name in vars(owner))
    special = {name for name in names if name.startswith("__") and name.endswith("__")}
    return special - _NEVER_IN_TRACE


def _wrapped_layers(function: Any) -> Iterator[Any]:
    """Yield a function and then, by following `__wrapped__`, each function that it wraps."""
    for _ in range(_MAX_WRAPPERS):
        yield function
        inner = inspect.getattr_static(function, "__wrapped__", None)
        if inner is None or inner is function:
            return
        function = function.__wrapped__
