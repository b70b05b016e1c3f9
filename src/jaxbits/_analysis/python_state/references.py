"""The Python state that a function can reach without being passed it."""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxbits._analysis.code_location import Place, is_users

ABSENT = type("Absent", (), {"__repr__": lambda _: "nothing", "__slots__": ()})()
"""What stands under a name that is not bound yet."""

_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"}


WHOLE = ("object", "argument", "cache")
ATTRIBUTES = ("attribute", "class attribute", "function attribute")


@dataclass(frozen=True)
class Reference:
    """One name by which a function sees Python state.

    Attributes:
        kind: ``global``, ``closure``, ``default``, ``attribute`` (of an object the method belongs
            to), ``class attribute`` or ``function attribute``; ``object``, ``argument`` and
            ``cache`` for the holder itself.
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
        """Return the value now; None where it cannot be told, `ABSENT` where there is none."""
        try:
            if self.kind in WHOLE:
                return self.holder
            if self.kind == "global":
                return self.holder.get(self.key, ABSENT)
            if self.kind == "closure":
                return self.holder.cell_contents
            if self.kind == "default":
                return self.holder[self.key]
            return getattr(self.holder, self.key, ABSENT)
        except Exception:  # a property of the user's may raise anything
            return None

    def set(self, value: Any) -> None:
        """Put another value there."""
        if value is ABSENT:
            if self.kind == "global":
                self.holder.pop(self.key, None)
            elif self.kind in ATTRIBUTES and hasattr(self.holder, self.key):
                delattr(self.holder, self.key)
        elif self.kind == "global":
            self.holder[self.key] = value
        elif self.kind == "closure":
            self.holder.cell_contents = value
        elif self.kind == "attribute":
            object.__setattr__(self.holder, self.key, value)
        elif self.kind in ATTRIBUTES:
            setattr(self.holder, self.key, value)


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a function's code, and that of the functions inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


@functools.lru_cache(maxsize=2048)
def names_in(code: types.CodeType, attributes: bool) -> tuple[str, ...]:
    """Return the globals that code uses, or its names after a dot."""
    wanted = _ATTRIBUTES if attributes else _LOADS
    found = (
        str(instruction.argval)
        for part in codes_of(code)
        for instruction in dis.get_instructions(part)
        if instruction.opname in wanted
    )
    return tuple(dict.fromkeys(found))


@functools.lru_cache(maxsize=2048)
def first_lines(code: types.CodeType) -> dict[str, int]:
    """Return the line on which each name is first used in code, those after a dot included.

    >>> first_lines((lambda x: len(x)).__code__) == {"x": 1, "len": 1}
    True
    """
    lines: dict[str, int] = {}
    for part in codes_of(code):
        line = part.co_firstlineno
        for instruction in dis.get_instructions(part):
            line = getattr(instruction.positions, "lineno", None) or line
            if isinstance(instruction.argval, str):
                lines[instruction.argval] = min(line, lines.get(instruction.argval, line))
    return lines


@functools.lru_cache(maxsize=2048)
def made_by(code: types.CodeType) -> frozenset[str]:
    """Return the globals that a function, or one inside of it, binds."""
    parts = (dis.get_instructions(part) for part in codes_of(code))
    return frozenset(str(i.argval) for part in parts for i in part if i.opname == "STORE_GLOBAL")


def is_code(value: Any) -> bool:
    """Whether a value is a function of Python's, or stands for one."""
    kinds = (types.FunctionType, types.MethodType, functools.partial)
    return isinstance(value, kinds) or hasattr(value, "__wrapped__")


def is_of_user(value: Any) -> bool:
    """Whether a value is a class of the user's, or an object of one.

    Objects of classes that are derived from a library's change as that library says.
    """
    kind = value if isinstance(value, type) else type(value)
    if any(base.__module__.partition(".")[0] == "flax" for base in kind.__mro__):
        return False
    return is_users_class(kind)


def is_users_class(kind: type) -> bool:
    """Whether a class is defined in a file of the user's, or in a notebook."""
    return _users_module(str(kind.__module__))


@functools.lru_cache(maxsize=2048)
def _users_module(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None) or "<a notebook>"
    return name != "builtins" and is_users(file)


def arguments(args: Any, kwargs: Any) -> list[Reference]:
    """Return references to arguments, for a `Memory` of them."""
    placed = [Reference("default", f"args[{i}]", args, i) for i in range(len(args))]
    return placed + [Reference("global", name, kwargs, name) for name in kwargs]
