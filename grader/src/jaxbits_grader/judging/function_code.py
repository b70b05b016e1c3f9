"""Inspect a function's bytecode for the names that it uses and the changes that it makes."""

from __future__ import annotations

import dis
import types

_CHANGING_STEPS = {"STORE_SUBSCR", "STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "DELETE_SUBSCR"}
_CHANGING_METHODS = {"append", "extend", "insert", "add", "update", "setdefault", "pop"}


def changes_something(code: types.CodeType) -> bool:
    """Return whether a function may change an object or a variable outside it."""
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return (
        any(step.opname in _CHANGING_STEPS for step in dis.get_instructions(code))
        or not _CHANGING_METHODS.isdisjoint(code.co_names)
        or any(map(changes_something, inner))
    )


def names_in(code: types.CodeType) -> list[str]:
    """Return the names that a function and the functions inside it use."""
    inner = [
        n for const in code.co_consts if isinstance(const, types.CodeType) for n in names_in(const)
    ]
    return list(dict.fromkeys([*code.co_names, *inner]))
