"""The Python state that a function can reach without being passed it."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from jaxbits.detect.finding import Place, is_users

_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL"}
_MOST = 500
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"}


@dataclass(frozen=True)
class Reference:
    """One name by which a function sees Python state.

    Attributes:
        kind: ``global``, ``closure``, ``default``, ``attribute`` (of an object the method belongs
            to), ``class attribute`` or ``function attribute``.
        name: the name in the code.
        holder: the dictionary, cell or object that holds the value.
        key: under what.
        place: the function that uses it.
    """

    kind: str
    name: str
    holder: Any
    key: Any
    place: Place | None = None

    def get(self) -> Any:
        """Return the value now; None where there is none."""
        try:
            if self.kind == "global":
                return self.holder.get(self.key)
            if self.kind == "closure":
                return self.holder.cell_contents
            if self.kind == "default":
                return self.holder[self.key]
            return getattr(self.holder, self.key, None)
        except Exception:  # a property of the user's may raise anything
            return None

    def set(self, value: Any) -> None:
        """Put another value there."""
        if self.kind == "global":
            self.holder[self.key] = value
        elif self.kind == "closure":
            self.holder.cell_contents = value
        elif self.kind == "attribute":
            object.__setattr__(self.holder, self.key, value)
        elif self.kind == "class attribute":
            setattr(self.holder, self.key, value)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


@functools.lru_cache(maxsize=2048)
def _names(code: types.CodeType, attributes: bool) -> tuple[str, ...]:
    wanted = _ATTRIBUTES if attributes else _LOADS
    found = (
        str(instruction.argval)
        for part in _codes(code)
        for instruction in dis.get_instructions(part)
        if instruction.opname in wanted
    )
    return tuple(dict.fromkeys(found))


def _is_code(value: Any) -> bool:
    kinds = (types.FunctionType, types.MethodType, functools.partial)
    return isinstance(value, kinds) or hasattr(value, "__wrapped__")


def _users_class(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None) or "<a notebook>"
    return kind.__module__ != "builtins" and is_users(file)


class _Walk:
    def __init__(self) -> None:
        self.found: dict[tuple[Any, ...], Reference] = {}
        self.waiting: list[Any] = []
        self.seen: set[tuple[int, int]] = set()
        self.functions: list[types.FunctionType] = []

    def add(self, *reference: Any) -> None:
        made = Reference(*reference)
        self.found.setdefault((made.kind, id(made.holder), made.key), made)

    def function(self, function: types.FunctionType) -> None:
        code = function.__code__
        place = Place(code.co_filename, code.co_firstlineno, code.co_name)
        scope, attributes = function.__globals__, set(_names(code, True))
        for name in _names(code, False):
            if name in scope:
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
                self.waiting += [v for v in functions if _is_code(v)]
        elif isinstance(value, type):
            if _users_class(value):
                self.attributes("class attribute", value, used & set(vars(value)), place)
        elif _is_code(value):
            self.waiting.append(value)
            if isinstance(value, types.FunctionType) and is_users(value.__code__.co_filename):
                self.attributes("function attribute", value, used | set(vars(value)), place)
        elif not isinstance(value, types.BuiltinFunctionType):
            self.add(kind, name, holder, key, place)
            if _users_class(value):
                self.methods(value, {*used, "__call__"})

    def attributes(self, kind: str, holder: Any, names: set[str], place: Place) -> None:
        for name in sorted(names):
            value = inspect.getattr_static(holder, name, None)
            if name.startswith("__") or isinstance(value, (property, staticmethod, classmethod)):
                continue
            if not _is_code(value) and not isinstance(value, (type, types.ModuleType)):
                self.add(kind, f"{holder.__name__}.{name}", holder, name, place)

    def methods(self, instance: Any, names: set[str]) -> None:
        for name in names:
            method = inspect.getattr_static(type(instance), name, None)
            if isinstance(method, types.FunctionType) and is_users(method.__code__.co_filename):
                self.waiting.append(types.MethodType(method, instance))

    def bound(self, instance: Any, function: types.FunctionType) -> None:
        code = function.__code__
        place = Place(code.co_filename, code.co_firstlineno, code.co_name)
        names = set(_names(code, True))
        self.methods(instance, names)
        own = set(getattr(instance, "__dict__", ()))
        for name in sorted(names & (own | set(vars(type(instance))))):
            value = inspect.getattr_static(instance, name, None)
            if name in own and _is_code(value):
                self.waiting.append(value)
            elif name in own or not (_is_code(value) or hasattr(value, "__get__")):
                self.add("attribute", f"self.{name}", instance, name, place)


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
    return [(code, one.__globals__) for one in found for code in _codes(one.__code__)]


def _walked(function: Callable[..., Any]) -> tuple[References, list[types.FunctionType]]:
    walk = _Walk()
    walk.waiting.append(function)
    while walk.waiting and len(walk.seen) < _MOST:
        here = walk.waiting.pop()
        instance = getattr(here, "__self__", None)
        if isinstance(here, functools.partial):
            walk.waiting.append(here.func)
            walk.waiting += [v for v in (*here.args, *here.keywords.values()) if _is_code(v)]
            continue
        if inspect.ismethod(here):
            here = here.__func__
        here = inspect.unwrap(here)
        if not isinstance(here, types.FunctionType):
            call = getattr(type(here), "__call__", None)  # noqa: B004 - the function is wanted
            if isinstance(call, types.FunctionType) and is_users(call.__code__.co_filename):
                walk.waiting.append(types.MethodType(call, here))
            elif _is_code(here) and here is not function:
                walk.waiting.append(here)
            continue
        if (id(here), id(instance)) in walk.seen or not is_users(here.__code__.co_filename):
            continue
        walk.seen.add((id(here), id(instance)))
        walk.functions.append(here)
        if instance is not None and not isinstance(instance, (type, types.ModuleType)):
            walk.bound(instance, here)
        walk.function(here)
    found = References(walk.found.values())
    found.unread = len(walk.waiting)
    return found, walk.functions


def arguments(args: Any, kwargs: Any) -> list[Reference]:
    """Return references to arguments, for a `Memory` of them."""
    placed = [Reference("default", f"args[{i}]", args, i) for i in range(len(args))]
    return placed + [Reference("global", name, kwargs, name) for name in kwargs]
