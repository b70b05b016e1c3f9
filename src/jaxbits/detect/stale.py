"""Values that a compiled program keeps although they have changed since."""

from __future__ import annotations

import ast
import collections
import copy
import functools
import inspect
import linecache
import logging
import os
import random
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbits.detect.detector import detector
from jaxbits.detect.finding import Finding
from jaxbits.detect.iterators import is_iterator
from jaxbits.detect.state import Reference
from jaxbits.detect.subject import Subject

_MOST = 24
_SIMPLE = (bool, int, float, complex, str)
_SKIPPED = (logging.Logger, np.random.Generator, np.random.RandomState, random.Random)


@detector
def stale_global(subject: Subject) -> Iterator[Finding]:
    """Find globals and attributes whose value is baked into the compiled program.

    For each that can change it traces the function again with another value there: a program that
    differs is the proof. What can change: mutable values and objects, and names that the module
    binds more than once; not names in capitals, frozen dataclasses, nor modules of flax's linen. At
    most 24 are tried. It cannot see a module that another one rebinds a name in. JAX has no switch
    for it.

    >>> from jaxbits import detect
    >>> settings = {"rate": 0.1}
    >>> print(detect.stale_global(lambda x: x * settings["rate"], 1.0)[0].message)
    global `settings` is baked into the compiled program
    >>> detect.stale_global(lambda x, rate: x * rate, 1.0, settings["rate"])
    []
    """
    for place in dict.fromkeys(subject.trace.seen.environment):
        yield Finding(
            "stale_global",
            "warning",
            "the environment is read while tracing, and by no cached call",
            "1 read in a trace, 0 in a call after it",
            "read it outside, and pass the value as an argument",
            place,
        )
    if subject.trace.program is None:
        return
    base: tuple[str, ...] | None = None
    changeable = [reference for reference in subject.references if _can_change(reference)]
    if len(changeable) > _MOST:
        names = ", ".join(reference.name for reference in changeable[_MOST:])
        subject.left_out.append(f"stale_global: {_MOST} names were tried, and not {names:.200}")
    for reference in changeable[:_MOST]:
        value = reference.get()
        other = _another(value)
        if other is value:
            continue
        base = base or subject.trace.text()
        try:
            reference.set(other)
            changed = subject.traced_again().text() != base
        finally:
            reference.set(value)
        if changed:
            yield Finding(
                "stale_global",
                "warning",
                f"{reference.kind} `{reference.name}` is baked into the compiled program",
                "traced again with another value there, the program is another; a cached call "
                "keeps the old one",
                f"pass `{reference.name}` as an argument",
                reference.place,
            )


def _can_change(reference: Reference) -> bool:
    value = reference.get()
    if reference.kind in ("default", "function attribute") or isinstance(value, _SKIPPED):
        return False
    if callable(value) and not hasattr(value, "__dict__"):
        return False
    name = reference.name.rpartition(".")[2]
    if is_iterator(value) or (reference.kind != "attribute" and _is_constant(name)):
        return False
    if reference.kind == "attribute" or _is_mutable(value):
        return not _is_frozen(value) and not _is_frozen(reference.holder)
    sources = _sources(reference)
    if reference.kind == "closure":
        line = reference.place.line if reference.place else 0
        return any(_rebound(source, name, line) for source in sources)
    bindings = _count(sources)
    if reference.kind == "class attribute":
        return bindings["attribute", name] > 0
    return bindings["name", name] > 1


def _is_constant(name: str) -> bool:
    return re.fullmatch(r"_*[A-Z][A-Z0-9_]*", name) is not None


def _is_frozen(value: Any) -> bool:
    """Whether an object is a frozen dataclass, or a module of flax's linen, which is as good."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    linen = any(base.__module__.startswith("flax.linen.") for base in type(value).__mro__)
    return linen or bool(parameters and parameters.frozen)


def _is_mutable(value: Any) -> bool:
    if isinstance(value, (list, dict, set, np.ndarray, collections.deque)):
        return True
    opaque = isinstance(value, (jax.Array, type, types.ModuleType, np.generic, tuple, *_SIMPLE))
    return hasattr(value, "__dict__") and not opaque


def _another(value: Any, depth: int = 4) -> Any:
    """Return a value of the same kind that differs everywhere; the same one where none is known."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float, complex)):
        return value + 1
    if isinstance(value, str):
        return value + "_"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return ~value if value.dtype.kind == "b" else value + value.dtype.type(1)
    if isinstance(value, jax.Array):
        return value + 1 if jnp.issubdtype(value.dtype, jnp.number) else value
    if not depth or isinstance(value, (type, types.ModuleType)) or _is_frozen(value):
        return value
    if isinstance(value, dict):
        return {key: _another(part, depth - 1) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_another(part, depth - 1) for part in value)
    if type(value) is set and value:
        return {_another(part) for part in value}
    return _other_object(value, depth)


def _other_object(value: Any, depth: int) -> Any:
    fields = getattr(value, "__dict__", None)
    if not isinstance(fields, dict) or isinstance(value, types.FunctionType):
        return value
    others = {key: _another(part, depth - 1) for key, part in fields.items()}
    if all(others[key] is fields[key] for key in fields):
        return value
    try:
        made = copy.copy(value)
        for key, part in others.items():
            object.__setattr__(made, key, part)
    except Exception:  # an object that resists copying is left alone
        return value
    return made


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


@functools.lru_cache(maxsize=64)
def _rebound(source: str, name: str, line: int) -> bool:
    """Whether a function around a line holds another that declares the name `nonlocal`."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell with a magic
        return False
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    around = [n for n in functions if n.lineno <= line <= (n.end_lineno or n.lineno)]
    inside = (part for function in around for part in ast.walk(function))
    return any(isinstance(part, ast.Nonlocal) and name in part.names for part in inside)


@functools.lru_cache(maxsize=16)
def _count(sources: tuple[str, ...]) -> collections.Counter[tuple[str, str]]:
    """Count how often names are bound at the top level or by `global`, and set as attributes."""
    count: collections.Counter[tuple[str, str]] = collections.Counter()
    for source in sources:
        try:
            tree = ast.parse(source)
        except SyntaxError:  # a cell with a magic
            continue
        inside = {id(part) for top in _scopes(tree) for part in ast.walk(top)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):
                count.update(("name", name) for name in node.names)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                count["attribute", node.attr] += 1
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                if id(node) not in inside:
                    count["name", node.id] += 1
            elif isinstance(node, (ast.For, ast.AugAssign)) and id(node) not in inside:
                names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
                count.update(("name", name) for name in names)
    return count


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if isinstance(node, (*_SCOPES, *_COMPREHENSIONS)))
