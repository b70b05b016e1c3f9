"""Which Python state is meant to change, and another value to try in its place."""

from __future__ import annotations

import ast
import collections
import enum
import functools
import inspect
import linecache
import logging
import os
import random
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import ABSENT, Reference, is_of_user
from jaxbits._analysis.source.rebinding import Evidence, evidence

_SIMPLE = (bool, int, float, complex, str)
# What a program reads anew at each call, a Ref, or what another check is about, randomness.
_SKIPPED = (
    jax.Ref,
    logging.Logger,
    np.random.Generator,
    np.random.RandomState,
    random.Random,
)
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)
_CONTAINERS = (list, dict, set, np.ndarray, collections.deque)
_TRAINED = {"w", "b", "weights", "bias", "params", "parameters", "variables"}
_FLAGS = {"training", "train", "is_training"}


def candidates(references: list[Reference]) -> Iterator[tuple[Reference, bool]]:
    """Yield what may be another value at a later call, and whether it plainly will.

    Plain is what the source says: a name that is bound again, an attribute that is set outside of
    `__init__`, a container that is written to. A mutable global that is not named as a constant
    counts as meant to change; an attribute or a closure's value that only could, does not.
    """
    seen: set[tuple[int, Any]] = set()
    waiting = [(reference, False) for reference in references]
    for reference, weak in waiting:
        value = reference.get()
        key = (id(reference.holder), reference.key)
        if key in seen or reference.kind not in _KINDS or value is ABSENT:
            continue
        seen.add(key)
        if isinstance(value, (*_SKIPPED, type, types.ModuleType)) or is_iterator(value):
            continue
        meant = _KINDS[reference.kind](reference, value, _evidence(reference))
        if meant is None:
            meant = True if weak and not _is_constant_like(value) else None
        apart = is_of_user(value) and not is_frozen(value) and not isinstance(value, tuple)
        if apart and not meant and len(seen) < 500:
            waiting += [(part, _is_record(reference, value)) for part in _fields(reference)]
            continue
        if meant or (meant is None and not _is_constant_like(value)):
            yield reference, bool(meant)


def _fields(reference: Reference) -> Iterator[Reference]:
    value = reference.get()
    for name in object_fields.fields(value) or {}:
        if not object_fields.computed_once(value, name):
            label = f"{reference.name}.{name}"
            yield Reference("attribute", label, value, name, reference.place)
    for home in type(value).__mro__:
        if is_of_user(home):
            for name, part in vars(home).items():
                if not name.startswith("__") and not hasattr(type(part), "__get__"):
                    label = f"{reference.name}.{name}"
                    yield Reference("class attribute", label, home, name, reference.place)


def _is_record(reference: Reference, value: Any) -> bool:
    """Whether an object is a global record of settings: a dataclass that is not frozen."""
    lower = not _is_constant(reference.name) and reference.kind == "global"
    return lower and hasattr(type(value), "__dataclass_fields__")


def _line(reference: Reference) -> int:
    return reference.place.line if reference.place else 0


def _of_global(reference: Reference, value: Any, said: Evidence) -> bool | None:
    name, line = reference.key, _line(reference)
    if said.is_rebound(name, line):
        return not is_code(value) or any(
            e.inside for e in said.events if e.kind == "bind" and e.name == name and e.home is None
        )
    if is_code(value) or not _is_mutable(value):
        return False
    if is_of_user(value) and not is_frozen(value):
        return None
    if said.is_changed(name, line) or _has_drifted(said.literals.get(name), value):
        return True
    if _is_constant(name) or name in said.constant or is_frozen(value):
        return False
    if isinstance(value, np.ndarray):
        return bool(value.flags.writeable)
    return True


def _of_closure(reference: Reference, value: Any, said: Evidence) -> bool | None:
    rebound, changed = said.is_local_changed(reference.name, _line(reference))
    if rebound:
        return True
    if is_code(value) or not _is_mutable(value):
        return False
    if is_of_user(value) and not is_frozen(value):
        return None
    if changed:
        return True
    plain = isinstance(value, dict) and not said.is_parameter(reference.name, _line(reference))
    return True if plain and not _is_constant(reference.name) else None


def _of_attribute(reference: Reference, value: Any, said: Evidence) -> bool | None:
    holder = reference.holder
    kind = holder if isinstance(holder, type) else type(holder)
    if is_frozen(holder) or is_frozen(value):
        return False
    owners = {k.__name__ for k in kind.__mro__ if k is not object}
    line = _line(reference)
    if said.is_attribute_changed(reference.key, owners, line):
        return True
    if is_code(value) or isinstance(value, enum.Enum):
        return False
    if reference.kind == "attribute":
        if said.is_class_set_up(owners, line):
            return True
        if reference.key in _FLAGS and isinstance(value, bool):
            return True
        trained = [isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(value)]
        if reference.key in _TRAINED and trained and all(trained):
            return True
        return None if isinstance(value, _SIMPLE) or _is_mutable(value) else False
    return False


def _of_function(reference: Reference, value: Any, said: Evidence) -> bool | None:
    name = getattr(reference.holder, "__name__", "")
    events = [e for e in said.events if e.kind == "attribute" and e.name == reference.key]
    return any(e.late and e.of == name for e in events) and not is_code(value)


_KINDS: dict[str, Callable[[Reference, Any, Evidence], bool | None]] = {
    "global": _of_global,
    "closure": _of_closure,
    "attribute": _of_attribute,
    "class attribute": _of_attribute,
    "function attribute": _of_function,
}


def _has_drifted(literal: ast.expr | None, value: Any) -> bool:
    """Whether a value is not what the source gave it."""
    if literal is None or not isinstance(value, (list, dict, set)):
        return False
    try:
        return bool(ast.literal_eval(literal) != value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False


def is_code(value: Any) -> bool:
    """Whether a value is a function, or stands for one."""
    return isinstance(value, (*_CODE, np.ufunc)) or hasattr(value, "__wrapped__")


def _is_constant(name: str) -> bool:
    return re.fullmatch(r"_*[A-Z][A-Z0-9_]*", name) is not None


def is_frozen(value: Any) -> bool:
    """Whether an object is a frozen dataclass, or a module of flax's linen, which is as good."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    linen = any(base.__module__.startswith("flax.linen.") for base in type(value).__mro__)
    return linen or bool(parameters and parameters.frozen) or isinstance(value, enum.Enum)


def _is_constant_like(value: Any) -> bool:
    return isinstance(value, (tuple, jax.Array)) or is_code(value)


def _is_mutable(value: Any) -> bool:
    if isinstance(value, _CONTAINERS):
        return True
    opaque = isinstance(value, (jax.Array, type, types.ModuleType, np.generic, tuple, *_SIMPLE))
    return hasattr(value, "__dict__") and not opaque


def _evidence(reference: Reference) -> Evidence:
    scopes = _sources(reference)
    holder = reference.holder
    kind = holder if isinstance(holder, type) else type(holder)
    if reference.kind in ("attribute", "class attribute"):
        for base in kind.__mro__:
            module = sys.modules.get(base.__module__)
            text = _text(module) if module and is_of_user(base) else ""
            scopes += (text,) * bool(text and text not in scopes and len(scopes) < 2)
    return evidence(scopes)


def _text(module: types.ModuleType) -> str:
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):
        return ""


def _sources(reference: Reference) -> tuple[str, ...]:
    """Return the source of the module that uses a name, or of a notebook's cells so far."""
    file = reference.place.file if reference.place else ""
    scope = reference.holder
    if not isinstance(scope, dict):
        modules = (m for m in list(sys.modules.values()) if getattr(m, "__file__", "") == file)
        scope = vars(next(modules, sys.modules["__main__"]))
    cells = scope.get("In")
    if isinstance(cells, list):
        run = cells if any(map(str, cells)) else _cells_without_history(file)
        return tuple(dict.fromkeys(map(str, run)))  # a cell run twice binds nothing new
    module = sys.modules.get(str(scope.get("__name__")))
    try:
        return (inspect.getsource(module),) if module else ()
    except (OSError, TypeError):
        return ()


def _cells_without_history(file: str) -> list[str]:
    """Return the cells that were run beside that of a file, by a client that keeps no history.

    IPython leaves the text of a cell where tracebacks look for it, history or not.
    """
    folder = os.path.dirname(file)
    return [
        "".join(entry[2])
        for name, entry in list(linecache.cache.items())
        if len(entry) > 2 and folder and os.path.dirname(name) == folder
    ]
