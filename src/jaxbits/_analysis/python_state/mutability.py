"""Find Python state that may differ on a later call, judging by its type and the source code."""

from __future__ import annotations

import ast
import collections
import collections.abc
import enum
import functools
import logging
import random
import re
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.object_copies import is_frozen, is_shared
from jaxbits._analysis.python_state.receivers import is_mutated_by
from jaxbits._analysis.python_state.references import (
    ABSENT,
    Reference,
    global_name,
    is_user_object,
    is_wrapper,
)
from jaxbits._analysis.python_state.source_evidence import evidence_for
from jaxbits._analysis.safe_attributes import get_attribute, has_attribute
from jaxbits._analysis.source.rebinding import Evidence

_SIMPLE = (bool, int, float, complex, str)
# A program reads a Ref on every call, and other checks report loggers and random generators.
_SKIPPED = (
    jax.Ref,
    logging.Logger,
    np.random.Generator,
    np.random.RandomState,
    random.Random,
)
_FUNCTION_TYPES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    functools.partial,
)
_MUTABLE_TYPES = (list, dict, set, np.ndarray, collections.deque)
_PARAMETER_NAMES = {"w", "b", "weights", "bias", "params", "parameters", "variables"}
_MODE_FLAGS = {"training", "train", "is_training"}


def find_changeable(references: list[Reference]) -> Iterator[tuple[Reference, bool]]:
    """Yield (reference, is_meant) for each piece of Python state that may differ on a later call.

    `is_meant` is True if the source assigns the name again, sets the attribute outside `__init__`,
    or mutates the container. A global container also counts as meant to change, unless its name is
    written in capitals, like a constant, it is a configuration that a function has loaded, or it is
    a NumPy array. An attribute or closure value that merely could change does not count.
    """
    seen: set[tuple[int, Any]] = set()
    waiting = list(references)
    for reference in waiting:
        value = reference.get()
        key = (id(reference.holder), reference.key)
        if key in seen or reference.kind not in _JUDGES or value is ABSENT:
            continue
        seen.add(key)
        if isinstance(value, (*_SKIPPED, type, types.ModuleType)) or is_iterator(value):
            continue
        is_mutation = functools.partial(is_mutated_by, value)
        names = (reference.name, reference.key)
        evidence = evidence_for(reference).keep_mutations(names, is_mutation)
        is_meant = _JUDGES[reference.kind](reference, value, evidence)
        has_fields = is_user_object(value) and not is_shared(value) and not isinstance(value, tuple)
        if has_fields and not is_meant and len(seen) < 500:
            waiting += _fields(reference)
            continue
        if is_meant or (is_meant is None and not _is_constant_like(value)):
            yield reference, bool(is_meant)


def _fields(reference: Reference) -> Iterator[Reference]:
    """Yield references to the attributes of an object and of its classes."""
    value = reference.get()
    for name in object_fields.fields(value) or {}:
        if not object_fields.is_cached_property(value, name):
            label = f"{reference.name}.{name}"
            location = reference.location_of_attribute(label)
            yield Reference("attribute", label, value, name, location, reference.code)
    for owner in type(value).__mro__:
        if is_user_object(owner):
            for name, member in vars(owner).items():
                if not name.startswith("__") and not hasattr(type(member), "__get__"):
                    label = f"{reference.name}.{name}"
                    location = reference.location_of_attribute(label)
                    yield Reference("class attribute", label, owner, name, location, reference.code)


def _judge_global(reference: Reference, value: Any, evidence: Evidence) -> bool | None:
    """Return whether a global changes, or None if it merely could."""
    name, line = reference.key, reference.line
    if evidence.is_rebound(name, line):
        return not is_function_like(value) or evidence.is_assigned_in_function(name)
    if is_function_like(value) or not _is_mutable(value):
        return False
    if is_user_object(value) and not is_frozen(value):
        return None
    if evidence.is_changed(name, line):
        return True
    if evidence.is_filled_on_import(name):
        return False if _holds_only_functions(value) else None
    if _differs_from_source(evidence.literals.get(name), value):
        return True
    if _is_constant_name(name) or name in evidence.final_names or is_frozen(value):
        return False
    if isinstance(value, np.ndarray):  # Most tables of constants are writable, too.
        return None if value.flags.writeable else False
    if _is_loaded(reference, value, evidence) or evidence.is_table(name):
        return None
    # A container is probably filled later. An object with methods that is bound once, such as an
    # optimizer or an environment, is probably kept as it is.
    # Training may change one that holds arrays, such as a model.
    is_kept = _has_methods(type(value)) and not _holds_jax_arrays(value)
    return None if is_kept and not isinstance(value, _MUTABLE_TYPES) else True


def _holds_only_functions(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, (dict, list, set)) and all(
        isinstance(item, type) or is_function_like(item) for item in items
    )


def _holds_jax_arrays(value: Any) -> bool:
    fields = object_fields.fields(value) or {}
    return any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(list(fields.values())))


def _has_methods(kind: type) -> bool:
    """Return whether a class has public methods, unlike one that only holds attributes."""
    members = (member for owner in kind.__mro__ for member in vars(owner).items())
    return any(callable(value) and not name.startswith("_") for name, value in members)


def _judge_closure(reference: Reference, value: Any, evidence: Evidence) -> bool | None:
    """Return whether a closure value changes, or None if it merely could."""
    rebound, changed = evidence.is_local_changed(reference.name, reference.line)
    if rebound:
        return True
    if is_function_like(value) or not _is_mutable(value):
        return False
    if is_user_object(value) and not is_frozen(value):
        return None
    if changed:
        return True
    is_own_dict = isinstance(value, dict) and not evidence.is_parameter(
        reference.name, reference.line
    )
    if _is_loaded(reference, value, evidence):
        return None
    return True if is_own_dict and not _is_constant_name(reference.name) else None


def _is_loaded(reference: Reference, value: Any, evidence: Evidence) -> bool:
    """Return whether a value is a configuration that a function has returned, bound only once.

    An example is ``args = parser.parse_args()``. The constructor of the value does not count,
    because a program that starts with an empty or literal container probably fills it later.
    Neither does a value with arrays in a notebook, where the next cell may train the model that
    they belong to. In a module, the source would show that.
    """
    call = evidence.bound_call(reference.name, reference.line)
    if not call or call in {base.__name__ for base in type(value).__mro__}:
        return False
    contents = dict(value) if isinstance(value, collections.abc.Mapping) else value
    leaves = jax.tree.leaves(getattr(contents, "__dict__", contents))
    kinds = (*_SIMPLE, type, *((jax.Array, np.ndarray) if evidence.is_ordered else ()))
    return all(isinstance(leaf, kinds) or is_function_like(leaf) for leaf in leaves)


def _judge_attribute(reference: Reference, value: Any, evidence: Evidence) -> bool | None:
    """Return whether an attribute changes, or None if it merely could."""
    holder = reference.holder
    class_ = holder if isinstance(holder, type) else type(holder)
    # The audit changes the attribute for a moment, which it must not do for every object.
    is_enum = isinstance(holder, type) and issubclass(holder, enum.Enum)
    is_fixed = is_enum or (reference.kind == "attribute" and is_shared(holder))
    if is_fixed or is_frozen(value):
        return False
    owners = {k.__name__ for k in class_.__mro__ if k is not object}
    line = reference.line
    if evidence.is_attribute_changed(reference.key, owners, line):
        return True
    if is_function_like(value) or isinstance(value, enum.Enum):
        return False
    if reference.kind == "attribute":
        if evidence.is_class_set_up(owners, line):
            return True
        if reference.key in _MODE_FLAGS and isinstance(value, bool):
            return True
        is_array = [isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(value)]
        if reference.key in _PARAMETER_NAMES and is_array and all(is_array):
            return True
        return None if isinstance(value, _SIMPLE) or _is_mutable(value) else False
    return False


def _judge_function_attribute(reference: Reference, value: Any, evidence: Evidence) -> bool | None:
    """Return whether the source sets a function's attribute at run time."""
    name = get_attribute(reference.holder, "__name__", "")
    events = [e for e in evidence.events if e.kind == "attribute" and e.name == reference.key]
    return any(e.is_late and e.base == name for e in events) and not is_function_like(value)


def _judge_bound_argument(reference: Reference, value: Any, evidence: Evidence) -> bool | None:
    """Return whether an argument of a `functools.partial` changes, or None if it merely could.

    Only an object that a global name refers to is judged to change, because nothing else is known
    to reach an object that was created for the partial.
    """
    if is_user_object(value) and not is_frozen(value):
        return None
    if global_name(value, reference.holder.func) != reference.name or is_function_like(value):
        return False
    return _judge_global(replace(reference, key=reference.name), value, evidence)


_JUDGES: dict[str, Callable[[Reference, Any, Evidence], bool | None]] = {
    "global": _judge_global,
    "closure": _judge_closure,
    "attribute": _judge_attribute,
    "class attribute": _judge_attribute,
    "function attribute": _judge_function_attribute,
    "bound argument": _judge_bound_argument,
}


def _differs_from_source(literal: ast.expr | None, value: Any) -> bool:
    """Return whether a container differs from the literal that was first assigned to its name."""
    if literal is None or not isinstance(value, (list, dict, set)):
        return False
    try:
        return bool(ast.literal_eval(literal) != value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False


def is_function_like(value: Any) -> bool:
    """Return whether a value is a function or wraps one."""
    return isinstance(value, (*_FUNCTION_TYPES, np.ufunc)) or is_wrapper(value)


def _is_constant_name(name: str) -> bool:
    return re.fullmatch(r"_*[A-Z][A-Z0-9_]*", name) is not None


def _is_constant_like(value: Any) -> bool:
    return isinstance(value, (tuple, jax.Array)) or is_function_like(value)


def _is_mutable(value: Any) -> bool:
    if isinstance(value, _MUTABLE_TYPES):
        return True
    is_opaque = isinstance(value, (jax.Array, type, types.ModuleType, np.generic, tuple, *_SIMPLE))
    return has_attribute(value, "__dict__") and not is_opaque
