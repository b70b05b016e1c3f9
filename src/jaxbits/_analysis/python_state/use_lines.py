"""Find the lines on which code uses globals, variables, and attributes."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import Any

_PASSIVE = {"CACHE", "COPY", "EXTENDED_ARG", "NOP", "PUSH_NULL"}
_SCOPES = {"GLOBAL": "global", "NAME": "global", "DEREF": "closure", "FAST": "local"}
_SCOPE_OF_KIND = {"global": "global", "closure": "closure", "default": "local"}


def first_use_line(
    code: types.CodeType, kind: str, name: str, stores_only: bool = False
) -> int | None:
    r"""Return the number of the first line on which code uses a name, or None if it does not.

    Args:
        code: The code. The functions defined inside it count as well.
        kind: The kind of a reference, such as ``global`` or ``attribute``. Only uses of this kind
            count if there are any.
        name: The name, perhaps with what it is an attribute of, such as ``self.cache.hits``. If the
            code has no such expression, the last part counts.
        stores_only: Whether only lines count that assign the name.

    >>> code = compile("def f(rate):\n  return rate\nrate + a.b\nc.b = 1", "", "exec")
    >>> first_use_line(code, "global", "rate"), first_use_line(code, "attribute", "c.b")
    (3, 4)
    """
    lines = _first_lines(code, stores_only)
    scope = _SCOPE_OF_KIND.get(kind, "attribute" if "attribute" in kind else "")
    short = name.rpartition(".")[2]
    preferred = [line for key in (name, short) if (line := lines.get((scope, key)))]
    others = (lines.get((other, short)) for other in (*_SCOPES.values(), "attribute"))
    return next(iter(preferred), None) or min(filter(None, others), default=None)


@functools.lru_cache(maxsize=2048)
def _first_lines(code: types.CodeType, stores_only: bool) -> dict[tuple[str, str], int]:
    """Return the first line of each use, keyed by its scope and name.

    An attribute has two names, one of them with what it is an attribute of.
    """
    lines: dict[tuple[str, str], int] = {}
    for scope, name, line, is_store in _uses(code):
        if is_store or not stores_only:
            lines[scope, name] = min(line, lines.get((scope, name), line))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for key, line in _first_lines(constant, stores_only).items():
                # Locals of an inner function are other variables than those of this one.
                if key[0] != "local":
                    lines[key] = min(line, lines.get(key, line))
    return lines


def _uses(code: types.CodeType) -> Iterator[tuple[str, str, int, bool]]:
    """Yield the scope, the name, the line, and whether the name is assigned, for each use."""
    line, path = code.co_firstlineno, ""
    loaded: dict[Any, str] = {}
    for instruction in dis.get_instructions(code):
        operation, _, kind = instruction.opname.partition("_")
        line = getattr(instruction.positions, "lineno", None) or line
        is_store, names = operation == "STORE", instruction.argval
        if kind in ("ATTR", "METHOD"):
            # `a.b += 1` stores the attribute at the position from which it has loaded it.
            full = f"{path}.{names}" if path else loaded.get(instruction.positions, "")
            yield from (("attribute", name, line, is_store) for name in (names, full) if name)
            path = "" if is_store else full
            loaded[instruction.positions] = full
        elif operation in ("LOAD", "STORE", "DELETE") and (scope := _scope(kind)):
            # Some instructions load or store two variables.
            every = names if isinstance(names, tuple) else (names,)
            yield from ((scope, name, line, is_store) for name in every)
            path = "" if is_store else every[-1]
        elif instruction.opname not in _PASSIVE:
            path = ""


def _scope(kind: str) -> str:
    return next((scope for part, scope in _SCOPES.items() if part in kind.split("_")), "")
