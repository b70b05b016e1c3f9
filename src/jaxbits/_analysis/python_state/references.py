"""The `Reference` class, which describes a name through which a function reaches Python state."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from jaxbits._analysis.code_location import CodeLocation, is_user_code
from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.use_lines import first_use_line
from jaxbits._analysis.safe_attributes import get_attribute, unwrap
from jaxbits._analysis.source.name_bindings import MUTATING_METHODS

ABSENT = type("Absent", (), {"__repr__": lambda _: "nothing", "__slots__": ()})()
"""A placeholder for the value of a name that is not bound."""

_GLOBAL_OPCODES = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL"})
_ATTRIBUTE_OPCODES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR"})

HOLDER_KINDS = ("object", "argument", "cache", "owner")
ATTRIBUTE_KINDS = ("attribute", "class attribute", "function attribute")


@dataclass(frozen=True)
class Reference:
    """A name through which a function reaches Python state.

    Attributes:
        kind: ``global``, ``closure``, ``default``, ``attribute`` (of the object that a method
            belongs to), ``class attribute``, ``function attribute``, or ``bound argument`` (of a
            `functools.partial`). If the value is the holder itself, the kind is ``object``,
            ``argument``, or ``cache``.
        name: The name as it appears in the code.
        holder: The dictionary, cell, or object that holds the value.
        key: The key, index, or attribute name of the value in its holder.
        location: The line that uses the name, or the first line of the function that contains it.
        code: The code that uses the name, if it is known.
        stored_at: The line that assigns the name, if a function that was searched does so.
    """

    kind: str
    name: str
    holder: Any
    key: Any
    location: CodeLocation | None = None
    code: types.CodeType | None = field(default=None, compare=False, repr=False)
    stored_at: CodeLocation | None = field(default=None, compare=False, repr=False)

    @property
    def line(self) -> int:
        """The line number of `location`, or 0 if it is unknown."""
        return self.location.line if self.location else 0

    def location_of_attribute(self, name: str) -> CodeLocation | None:
        """Return the line that uses an attribute of the value, or else the line of the value.

        Args:
            name: The expression for the attribute, such as ``self.cache.hits``.
        """
        line = first_use_line(self.code, "attribute", name) if self.code else None
        return replace(self.location, line=line) if self.location and line else self.location

    def get(self) -> Any:
        """Return the current value, `ABSENT` if there is none, or None if reading it fails."""
        try:
            if self.kind in HOLDER_KINDS:
                return self.holder
            if self.kind == "global":
                return self.holder.get(self.key, ABSENT)
            if self.kind == "closure":
                return self.holder.cell_contents
            if self.kind == "default":
                return self.holder[self.key]
            if self.kind == "bound argument":
                bound = self.holder.args if isinstance(self.key, int) else self.holder.keywords
                return bound[self.key]
            if isinstance(self.holder, type):
                return vars(self.holder).get(self.key, ABSENT)
            return object_fields.read_field(self.holder, self.key, ABSENT)
        except Exception:  # A closure cell, for example, may not have a value yet.
            return None

    def describe(self) -> str:
        """Return a noun phrase with which messages describe the state."""
        kind = type(self.holder).__name__
        if self.kind == "object":
            return f"an attribute of `self`, a {kind},"
        if self.kind == "argument":
            return f"argument {self.name}, a {kind},"
        if self.kind == "cache":
            return f"the cache of `{self.name}`"
        if self.kind == "owner":
            return f"the {kind} behind `{self.name}`"
        return f"{self.kind} `{self.name}`"

    def set(self, value: Any) -> None:
        """Replace the value, or remove the name if `value` is `ABSENT`."""
        if value is ABSENT:
            if self.kind == "global":
                self.holder.pop(self.key, None)
            elif self.kind in ATTRIBUTE_KINDS:
                object_fields.delete_field(self.holder, self.key)
        elif self.kind == "global":
            self.holder[self.key] = value
        elif self.kind == "closure":
            self.holder.cell_contents = value
        elif self.kind == "bound argument":
            _rebind(self.holder, self.key, value)
        elif self.kind in ATTRIBUTE_KINDS:
            object_fields.write_field(self.holder, self.key, value)


def _rebind(function: functools.partial[Any], key: int | str, value: Any) -> None:
    """Replace one of the arguments that a `functools.partial` holds, by position or name."""
    args, keywords = list(function.args), dict(function.keywords)
    if isinstance(key, int):
        args[key] = value
    else:
        keywords[key] = value
    # The attributes are read-only, but `copy` and `pickle` need this method.
    function.__setstate__((function.func, tuple(args), keywords, vars(function)))  # type: ignore[attr-defined]


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and the code objects of the functions defined inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested_codes(constant)


def global_names(code: types.CodeType) -> tuple[str, ...]:
    """Return the global names that code uses."""
    return _operands(code, _GLOBAL_OPCODES)


def attribute_names(code: types.CodeType) -> tuple[str, ...]:
    """Return the attribute and method names that code uses."""
    return _operands(code, _ATTRIBUTE_OPCODES)


@functools.lru_cache(maxsize=2048)
def changes_items(code: types.CodeType) -> bool:
    """Return whether code may change a container, judging by its operations and methods.

    >>> changes_items(compile("a['b'] = 1", "", "exec")), changes_items(compile("a[0]", "", "exec"))
    (True, False)
    """
    if MUTATING_METHODS.intersection(attribute_names(code)):
        return True
    parts = (dis.get_instructions(part) for part in nested_codes(code))
    return any(i.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") for part in parts for i in part)


@functools.lru_cache(maxsize=2048)
def stored_attributes(code: types.CodeType) -> frozenset[str]:
    """Return the names of the attributes that code sets, including those set with `setattr`.

    >>> sorted(stored_attributes(compile("a.b = c.d; setattr(a, 'e', 1)", "", "exec")))
    ['b', 'e']
    """
    names = set(_operands(code, frozenset({"STORE_ATTR"})))
    if "setattr" in global_names(code):
        constants = (c for part in nested_codes(code) for c in part.co_consts)
        names |= {c for c in constants if isinstance(c, str) and c.isidentifier()}
    return frozenset(names)


@functools.lru_cache(maxsize=2048)
def _operands(code: types.CodeType, opcodes: frozenset[str]) -> tuple[str, ...]:
    found = (
        str(instruction.argval)
        for part in nested_codes(code)
        for instruction in dis.get_instructions(part)
        if instruction.opname in opcodes
    )
    return tuple(dict.fromkeys(found))


@functools.lru_cache(maxsize=2048)
def stored_globals(code: types.CodeType) -> frozenset[str]:
    """Return the global names that a function or its inner functions assign."""
    parts = (dis.get_instructions(part) for part in nested_codes(code))
    return frozenset(str(i.argval) for part in parts for i in part if i.opname == "STORE_GLOBAL")


def global_name(value: Any, function: Any) -> str:
    """Return a global name in a function's module that refers to a value, or an empty string.

    Args:
        value: The value.
        function: The function, which may be a `functools.partial`.
    """
    while isinstance(function, functools.partial):
        function = function.func
    scope = get_attribute(unwrap(function), "__globals__", {})
    return next((name for name, held in list(scope.items()) if held is value), "")


def is_python_function(value: Any) -> bool:
    """Return whether a value is a Python function or wraps one."""
    kinds = (types.FunctionType, types.MethodType, functools.partial)
    return isinstance(value, kinds) or is_wrapper(value)


def is_wrapper(value: Any) -> bool:
    """Return whether a value wraps a function, as the result of `jax.jit` does.

    The attribute is looked up statically, because a class may define `__getattr__` in a way that
    creates every attribute that anyone asks for.
    """
    return inspect.getattr_static(value, "__wrapped__", None) is not None


def is_user_object(value: Any) -> bool:
    """Return whether a value is a class from user code or an instance of one.

    Flax modules and their instances do not count, because Flax controls how they change.
    """
    kind = value if isinstance(value, type) else type(value)
    if any(base.__module__.partition(".")[0] == "flax" for base in kind.__mro__):
        return False
    return is_user_class(kind)


def is_user_class(kind: type) -> bool:
    """Return whether a class is defined in user code or in a notebook."""
    return _is_user_module(str(kind.__module__))


def is_library_tuple(kind: Any) -> bool:
    """Return whether a type is a library's named tuple, in which the library keeps its own state.

    An example is the state of an Optax optimizer. Users pass it on, but they do not create it.
    """
    is_tuple = isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")
    return is_tuple and not is_user_class(kind)


@functools.lru_cache(maxsize=2048)
def _is_user_module(name: str) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None) or "<a notebook>"
    # Modules that are built into the interpreter have no file, like a notebook.
    return name not in sys.builtin_module_names and is_user_code(file)


def argument_references(args: Any, kwargs: Any) -> list[Reference]:
    """Return references to the arguments of a call, so that a snapshot can include them.

    Args:
        args: The positional arguments, as a list or tuple.
        kwargs: The keyword arguments.
    """
    placed = [Reference("default", f"args[{i}]", args, i) for i in range(len(args))]
    return placed + [Reference("global", name, kwargs, name) for name in kwargs]
