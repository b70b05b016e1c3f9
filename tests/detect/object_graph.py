"""Record everything that a namespace reaches, so that a test can compare it before and after."""

from __future__ import annotations

import collections
import contextlib
import types
from typing import Any

import jax
import numpy as np

_LEAVES = (bool, int, float, complex, str, bytes, type(None), jax.Array, types.BuiltinFunctionType)
_FOLLOWED = ("builtins", "types", "collections", "numpy", "enum")
"""The modules of other classes whose instances are followed."""
_SKIPPED = {"__builtins__", "__warningregistry__", "__weakref__", "__doc__"}


def record_graph(root: dict[str, Any], modules: tuple[str, ...]) -> dict[int, Any]:
    """Return the contents of every object that a namespace reaches, keyed by its identity.

    The record contains the objects themselves, so that their identities stay unique.

    Args:
        root: The namespace.
        modules: The modules whose classes, instances, and functions to follow.
    """
    found: dict[int, Any] = {}
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if id(value) in found or isinstance(value, _LEAVES):
            continue
        kind = value if isinstance(value, (type, types.FunctionType)) else type(value)
        followed = modules if kind is value else (*modules, *_FOLLOWED)
        if isinstance(value, types.ModuleType) or kind.__module__ not in followed:
            continue
        parts = _parts(value)
        found[id(value)] = value, [(name, _mark(part)) for name, part in parts]
        waiting += [part for _, part in parts]
    return found


def _mark(value: Any) -> Any:
    """Return what identifies a value: plain values by type and value, others by identity."""
    return (type(value), value) if type(value) in (int, float, str, bool) else id(value)


def _parts(value: Any) -> list[tuple[Any, Any]]:
    parts: list[tuple[Any, Any]] = []
    if isinstance(value, np.ndarray):
        return [("bytes", value.tobytes()), ("writable", value.flags.writeable)]
    if isinstance(value, dict):
        parts += [(key, item) for key, item in dict.items(value) if key not in _SKIPPED]
    elif isinstance(value, (list, tuple, collections.deque)):
        parts += list(enumerate(type(value).__mro__[-2].__iter__(value)))
    elif isinstance(value, (set, frozenset)):
        parts += [("items", tuple(sorted(map(repr, value))))]
    if isinstance(value, types.FunctionType):
        cells = value.__closure__ or ()
        parts += [(f"cell {n}", cell.cell_contents) for n, cell in enumerate(cells)]
        parts += [("defaults", value.__defaults__), ("attributes", vars(value))]
    elif isinstance(value, type):
        names = vars(value).keys() - _SKIPPED - {"__dict__"}
        parts += [(name, vars(value)[name]) for name in sorted(names)]
    else:
        with contextlib.suppress(AttributeError):
            parts += list(object.__getattribute__(value, "__dict__").items())
        for owner in type(value).__mro__:
            for name, slot in vars(owner).items():
                if isinstance(slot, types.MemberDescriptorType):
                    try:
                        parts.append((name, slot.__get__(value)))
                    except AttributeError:
                        continue
    return parts
