"""Find the Python state and the code that a function can reach."""

from __future__ import annotations

import collections
import dis
import functools
import gc
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import (
    Reference,
    changes_items,
    is_python_function,
    is_user_class,
    is_user_object,
    nested_codes,
    stored_attributes,
    stored_globals,
)
from jaxbits._analysis.python_state.state_walk import GENERATORS, StateWalk, methods_of
from jaxbits._analysis.safe_attributes import get_attribute
from jaxbits._analysis.state_types import children_of


class References(list[Reference]):
    """A list of references to Python state.

    Attributes:
        unread: The number of functions that have not been searched.
        codes: The code of the functions that have been searched.
    """

    unread = 0
    codes: frozenset[types.CodeType] = frozenset()


def find_references(function: Callable[..., Any]) -> References:
    """Return references to the Python state that a function and its user-defined callees reach.

    >>> def scaled(x, by=[2.0]):
    ...     return x * by[0]
    >>> [(reference.kind, reference.name) for reference in find_references(scaled)]
    [('default', 'by')]
    """
    walk = StateWalk(function)
    walk.run()
    found = References(walk.references.values())
    found.unread = len(walk.waiting)
    found.codes = frozenset(c for f in walk.functions for c in nested_codes(f.__code__))
    return found


def add_missed_references(found: References, codes: Iterable[types.CodeType]) -> bool:
    """Add the state of functions that have run although the search did not find them.

    Python calls methods such as ``__eq__`` without naming them, and a function can look up another
    one by a computed name.

    Args:
        found: The references, which this function extends.
        codes: The code of the user's functions that have run.

    Returns:
        Whether there was anything to add.
    """
    missed = {code for code in codes if code not in found.codes and _may_change_state(code)}
    found.codes |= missed
    if not missed:
        return False
    # This looks at every object in the process, so it runs once for all of them.
    referrers = gc.get_referrers(*missed)
    walk = StateWalk(*(f for f in referrers if isinstance(f, types.FunctionType)))
    walk.run()
    known = {(r.kind, id(r.holder), r.key) for r in found}
    new = [r for r in walk.references.values() if (r.kind, id(r.holder), r.key) not in known]
    found += new
    return bool(new)


def _may_change_state(code: types.CodeType) -> bool:
    return changes_items(code) or bool(stored_attributes(code) or stored_globals(code))


def find_method_references(class_: type) -> References:
    """Return references to the Python state that the methods of a class reach.

    The attributes of an instance are not among them.
    """
    walk = StateWalk(*methods_of(class_))
    walk.run()
    walk.add_class_attributes(class_)
    found = References(walk.references.values())
    found.unread = len(walk.waiting)
    return found


def reachable_codes(function: Callable[..., Any]) -> list[tuple[types.CodeType, dict[str, Any]]]:
    """Return the code and globals of a function and of the user functions that it calls."""
    walk = StateWalk(function)
    walk.run()
    return [(code, f.__globals__) for f in walk.functions for code in nested_codes(f.__code__)]


def line_with_numpy_generator(function: Callable[..., Any]) -> CodeLocation | None:
    """Return the first line that uses NumPy's global random generator, or None if there is none.

    NumPy's functions are written in C and report no calls, so this searches the code that the
    function reaches.

    >>> import numpy as np
    >>> line_with_numpy_generator(lambda x: x + np.random.rand()) is None
    False
    >>> line_with_numpy_generator(lambda x: x + np.random.default_rng(0).normal())
    """
    for code, scope in reachable_codes(function):
        value: Any = None
        line = code.co_firstlineno
        for instruction in dis.get_instructions(code):
            line = getattr(instruction.positions, "lineno", None) or line
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                value = scope.get(instruction.argval)
            elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                is_module = isinstance(value, types.ModuleType)
                value = vars(value).get(instruction.argval) if is_module else None
            if isinstance(get_attribute(value, "__self__"), np.random.RandomState):
                return CodeLocation(code.co_filename, line, code.co_name)
    return None


def used_names(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the names in the code that a function reaches, each mapped to its global value.

    The value is None for a name that is not a global. The name `format` also stands for f-strings.
    """
    found: dict[str, Any] = {}
    for code, scope in reachable_codes(function):
        for name in code.co_names:
            found.setdefault(name, scope.get(name))
        if _has_f_string(code):
            found["format"] = format
    return found


@functools.lru_cache(maxsize=2048)
def _has_f_string(code: types.CodeType) -> bool:
    return any(i.opname.startswith("FORMAT_") for i in dis.get_instructions(code))


def argument_objects(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Reference]:
    """Yield references to the mutable objects among the arguments that are not pytrees to JAX.

    These objects belong to the caller, and the function may change them. The arguments may also be
    pytrees of a user's class, such as modules, whose methods reach further state.

    Args:
        args: The positional arguments of the call.
        kwargs: The keyword arguments of the call.
    """
    for class_ in dict.fromkeys(_classes_of_nodes((args, kwargs))):
        yield from find_method_references(class_)
    named = [(f"args[{i}]", arg) for i, arg in enumerate(args)] + list(kwargs.items())
    for name, argument in named:
        for leaf in jax.tree.leaves(argument, is_leaf=lambda v: hasattr(type(v), "__next__")):
            if is_python_function(leaf):
                yield from find_references(leaf)
            elif not hasattr(type(leaf), "__next__") and (
                is_user_object(leaf) or isinstance(leaf, (set, collections.deque, *GENERATORS))
            ):
                yield Reference("argument", name, leaf, None)


def _classes_of_nodes(tree: Any) -> Iterator[type]:
    """Yield the class of each pytree node that a user's class defines, down to its leaves."""
    children = None if is_iterator(tree) else children_of(tree)
    if children is not None:
        if is_user_class(type(tree)):
            yield type(tree)
        for child in children.values():
            yield from _classes_of_nodes(child)
