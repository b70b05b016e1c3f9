"""Which Python state a function reaches: through the functions, methods and objects it uses."""

from __future__ import annotations

import collections
import functools
import inspect
import itertools
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from jaxbits._analysis.code_location import Place, is_users
from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.references import (
    Reference,
    codes_of,
    first_lines,
    is_code,
    is_of_user,
    is_users_class,
    made_by,
    names_in,
)

_MOST = 500


class _Walk:
    def __init__(self) -> None:
        self.found: dict[tuple[Any, ...], Reference] = {}
        self.waiting: list[Any] = []
        self.seen: set[tuple[int, int]] = set()
        self.functions: list[types.FunctionType] = []
        self.code: types.CodeType | None = None

    def add(self, kind: str, name: str, holder: Any, key: Any, place: Place | None) -> None:
        code = self.code
        if place and code and (place.file, place.line) == (code.co_filename, code.co_firstlineno):
            # The line that uses it says more than the one that begins the function.
            line = first_lines(code).get(name.rpartition(".")[2], place.line)
            place = Place(place.file, line, place.function)
        made = Reference(kind, name, holder, key, place)
        self.found.setdefault((made.kind, id(made.holder), made.key), made)

    def function(self, function: types.FunctionType) -> None:
        code = self.code = function.__code__
        place = Place(code.co_filename, code.co_firstlineno, code.co_name)
        scope, attributes = function.__globals__, set(names_in(code, True))
        for name in names_in(code, False):
            if name not in scope:
                if name in made_by(code):
                    self.add("global", name, scope, name, place)
            else:
                self.value("global", name, scope, name, scope[name], attributes, place)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                contents = cell.cell_contents
            except ValueError:  # not bound yet
                continue
            self.value("closure", name, cell, 0, contents, attributes, place)
        defaults = function.__defaults__ or ()
        named = code.co_varnames[: code.co_argcount][len(defaults) * -1 :] if defaults else ()
        for index, name in enumerate(named):
            self.value("default", name, defaults, index, defaults[index], attributes, place)

    def value(
        self, kind: str, name: str, holder: Any, key: Any, value: Any, used: set[str], place: Place
    ) -> None:
        if isinstance(value, types.ModuleType):
            if is_users(getattr(value, "__file__", None) or ""):
                self.attributes("class attribute", value, used & set(vars(value)), place)
                functions = [vars(value).get(n) for n in used]
                self.waiting += [v for v in functions if is_code(v)]
        elif isinstance(value, type):
            if is_users_class(value):
                self.class_methods(value, used)
                self.attributes("class attribute", value, used & set(vars(value)), place)
        elif is_code(value):
            self.waiting.append(value)
            self.add(kind, name, holder, key, place)
            if isinstance(value, types.FunctionType) and is_users(value.__code__.co_filename):
                self.attributes("function attribute", value, used | set(vars(value)), place)
        elif not isinstance(value, types.BuiltinFunctionType):
            self.add(kind, name, holder, key, place)
            self.held(value, used)

    def attributes(self, kind: str, holder: Any, names: set[str], place: Place) -> None:
        for name in sorted(names):
            value = inspect.getattr_static(holder, name, None)
            if name.startswith("__") or isinstance(value, (property, staticmethod, classmethod)):
                continue
            if not is_code(value) and not isinstance(value, (type, types.ModuleType)):
                self.add(kind, f"{holder.__name__}.{name}", holder, name, place)

    def held(self, value: Any, used: set[str]) -> None:
        """Look into an object's methods, and into the functions in a container."""
        if isinstance(value, (list, tuple, dict)):
            parts = value.values() if isinstance(value, dict) else value
            for part in itertools.islice(parts, 100):
                if is_code(part):
                    self.waiting.append(part)
                elif is_users_class(type(part)):
                    self.methods(part, used)
        elif is_users_class(type(value)):
            self.methods(value, used)

    def methods(self, instance: Any, names: set[str]) -> None:
        for name in names | _special(type(instance)):
            method = inspect.getattr_static(type(instance), name, None)
            method = getattr(method, "fget", None) or getattr(method, "func", None) or method
            if isinstance(method, (classmethod, staticmethod)):
                self.waiting.append(method.__get__(instance, type(instance)))
            elif is_code(method):
                self.waiting.append(types.MethodType(method, instance))

    def class_methods(self, kind: type, names: set[str]) -> None:
        """Look into the methods that objects of a class, made while tracing, may call."""
        for name in names | _special(kind) | {"__init__", "__post_init__", "__new__"}:
            method = inspect.getattr_static(kind, name, None)
            if isinstance(method, (classmethod, staticmethod)):
                self.waiting.append(method.__get__(None, kind))
            elif isinstance(method, types.FunctionType):
                self.waiting.append(method)
                data = set(names_in(method.__code__, True)) & set(vars(kind))
                place = _place(method)
                if place:
                    self.attributes("class attribute", kind, data, place)

    def bound(self, instance: Any, function: types.FunctionType) -> None:
        code = self.code = function.__code__
        place = Place(code.co_filename, code.co_firstlineno, code.co_name)
        names = set(names_in(code, True))
        if isinstance(instance, type):
            self.value("class", instance.__name__, instance, None, instance, names, place)
            return
        self.methods(instance, names)
        self.add("object", "self", instance, None, place)
        own = object_fields.fields(instance) or {}
        for name in sorted(names):
            if name in own:
                if is_code(own[name]):
                    self.waiting.append(own[name])
                self.add("attribute", f"self.{name}", instance, name, place)
                self.held(own[name], names)
                continue
            home = next((k for k in type(instance).__mro__ if name in vars(k)), None)
            if home is not None and is_users_class(home):
                self.attributes("class attribute", home, {name}, place)

    def given(self, part: functools.partial[Any]) -> None:
        """Look into what `functools.partial` holds."""
        named = [(f"{index} of a partial", v) for index, v in enumerate(part.args)]
        for name, value in [*named, *part.keywords.items()]:
            if is_code(value):
                self.waiting.append(value)
            elif isinstance(value, _CONTAINERS) or is_of_user(value):
                self.add("argument", name, value, None, _place(part.func))
                self.held(value, set())

    def visit(self, here: Any, instance: Any) -> None:
        """Look into a function, or an object that is called."""
        if isinstance(here, object_fields.Cached):
            self.add("cache", getattr(here, "__name__", "cache"), here, None, _place(here))
        if isinstance(here, types.FunctionType):
            if (id(here), id(instance)) in self.seen or not is_users(here.__code__.co_filename):
                return
            self.seen.add((id(here), id(instance)))
            self.functions.append(here)
            if instance is not None and not isinstance(instance, types.ModuleType):
                self.bound(instance, here)
            self.function(here)
            return
        call = getattr(type(here), "__call__", None)  # noqa: B004 - the function is wanted
        if isinstance(call, types.FunctionType) and is_users(call.__code__.co_filename):
            self.waiting.append(types.MethodType(call, here))


def _special(kind: type) -> set[str]:
    """Return the methods that Python calls without their names being in the code."""
    homes = (k for k in kind.__mro__ if is_users_class(k))
    names = (name for home in homes for name in vars(home) if name.startswith("__"))
    return {name for name in names if name not in _MAKING and name.endswith("__")}


_MAKING = {"__init__", "__new__", "__post_init__", "__repr__", "__str__", "__class__"}
_MAKING |= {"__eq__", "__hash__", "__init_subclass__", "__wrapped__"}


def _place(function: Any) -> Place | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return Place(code.co_filename, code.co_firstlineno, code.co_name) if code else None


def _layers(function: Any) -> Iterator[Any]:
    """Yield a function, and those that it says it wraps."""
    for _ in range(50):
        yield function
        inner = inspect.getattr_static(function, "__wrapped__", None)
        if inner is None or inner is function:
            return
        function = function.__wrapped__


class References(list[Reference]):
    """References, and how many functions were not looked into for more."""

    unread = 0


def references(function: Callable[..., Any]) -> References:
    """Return all names by which a function, and the user's functions it calls, see Python state.

    >>> def scaled(x, by=[2.0]):
    ...     return x * by[0]
    >>> [(found.kind, found.name) for found in references(scaled)]
    [('default', 'by')]
    """
    return _walked(function)[0]


def codes(function: Callable[..., Any]) -> list[tuple[types.CodeType, dict[str, Any]]]:
    """Return the code, with its globals, of a function and of the user's functions it calls."""
    found = _walked(function)[1]
    return [(code, one.__globals__) for one in found for code in codes_of(one.__code__)]


def _walked(function: Callable[..., Any]) -> tuple[References, list[types.FunctionType]]:
    walk = _Walk()
    walk.waiting.append(function)
    while walk.waiting and len(walk.seen) < _MOST:
        here = walk.waiting.pop()
        instance = here.__self__ if inspect.ismethod(here) else None
        for layer in _layers(here.__func__ if inspect.ismethod(here) else here):
            if isinstance(layer, functools.partial):
                walk.waiting.append(layer.func)
                walk.given(layer)
            elif inspect.ismethod(layer):
                walk.waiting.append(layer)
            else:
                walk.visit(layer, instance)
    found = References(walk.found.values())
    found.unread = len(walk.waiting)
    return found, walk.functions


def objects(args: Any, kwargs: Any) -> Iterator[Reference]:
    """Yield references to the objects among arguments that JAX does not take apart.

    Those are the caller's own, and may be changed by the function.
    """
    named = [(f"args[{i}]", arg) for i, arg in enumerate(args)] + list(kwargs.items())
    for name, given in named:
        for leaf in jax.tree.leaves(given, is_leaf=lambda v: hasattr(type(v), "__next__")):
            if is_code(leaf):
                yield from references(leaf)
            elif not hasattr(type(leaf), "__next__") and (
                is_of_user(leaf) or isinstance(leaf, (set, collections.deque, *_GENERATORS))
            ):
                yield Reference("argument", name, leaf, None)


_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_CONTAINERS = (list, dict, set, collections.deque, np.ndarray, *_GENERATORS)
