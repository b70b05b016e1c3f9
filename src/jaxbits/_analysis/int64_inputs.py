"""64-bit numbers that a function has without being passed them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import Place, is_users, place_of
from jaxbits._analysis.function_under_test import Subject, is_array
from jaxbits._analysis.python_state.iterators import is_iterator

NARROW = {
    "int64": np.int32,
    "uint64": np.uint32,
    "float64": np.float32,
    "complex128": np.complex64,
}
_NAMES = "_operator_ deferring_binary_op __call__ promote_ asarray array cache_miss"
_MAKING = {"op", "where", "_where", "add", "multiply", "subtract", "full", "arange", "_arange"}
_WORDS = (
    "array asarray int64 uint64 float64 complex128 arange linspace full logspace geomspace power "
    "cumprod cumsum prod frombuffer fromiter load datetime64 timedelta64 astype random"
)
_LARGE = set(_WORDS.split())
"""What NumPy makes numbers with that 32 bits may not hold."""

_ADDED = tuple(_NAMES.split())


def is_wide(value: Any) -> bool:
    """Whether a value is of NumPy, and of a dtype that JAX cuts."""
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.name in NARROW


def captured(subject: Subject) -> Iterator[tuple[str, Any, Place | None]]:
    """Yield NumPy values that the function sees without being passed them."""
    function: Any = subject.function
    while isinstance(function, functools.partial):
        for path, leaf in jax.tree_util.tree_leaves_with_path((function.args, function.keywords)):
            if is_wide(leaf):
                yield f"partial{jax.tree_util.keystr(path[1:])}", leaf, None
        function = function.func
    for reference in subject.references:
        value = reference.get()
        for part in _leaves(value)[:1000]:
            if is_wide(part):
                yield reference.name, part, reference.place


def _leaves(value: Any) -> list[Any]:
    if not isinstance(value, (dict, list, tuple)):
        return [value]
    try:
        return jax.tree.leaves(value)
    except ValueError:  # a dict whose keys have no order is no tree of JAX's
        return list(value.values()) if isinstance(value, dict) else list(value)


def written(subject: Subject) -> Iterator[tuple[float, Place]]:
    """Yield the floats in the function's own code."""
    if subject.trace.program is None:
        return
    function = inspect.unwrap(subject.function)
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    top = getattr(function, "__code__", None)
    if top is None or not is_users(top.co_filename):
        return
    for code in _codes(top):
        for constant in code.co_consts:
            for number in constant if isinstance(constant, tuple) else (constant,):
                if type(number) is float:
                    yield number, Place(code.co_filename, code.co_firstlineno, code.co_name)


def constants(subject: Subject) -> Iterator[tuple[Any, Place]]:
    """Yield what the function's own lines make in NumPy and hand to JAX, still in 64 bits."""
    if subject.trace.program is None or not _may_have_wide(subject.function):
        return
    args, kwargs = jax.tree.map(
        lambda leaf: jax.numpy.asarray(leaf) if is_wide(leaf) and is_array(leaf) else leaf,
        (subject.args, subject.kwargs),
        is_leaf=is_iterator,
    )
    with _jax_compat.x64_on():
        program = Subject(subject.function, args, kwargs).trace.program
    if program is not None:
        yield from _wide_constants(program)


def _may_have_wide(function: Any) -> bool:
    """Whether the code of a function, or of the user's functions that it calls, may be worth it.

    It names NumPy, or has an integer that 32 bits do not hold.
    """
    waiting, seen = [function], set[int]()
    while waiting and len(seen) < 500:
        here = waiting.pop()
        if isinstance(here, functools.partial):
            waiting += [here.func, *here.args, *here.keywords.values()]
            continue
        here = inspect.unwrap(here) if callable(here) else here
        here = getattr(here, "__func__", here)
        if id(here) in seen:
            continue
        seen.add(id(here))
        if not isinstance(here, types.FunctionType):
            if not isinstance(here, types.ModuleType) and is_users(_file_of(type(here))):
                waiting += [f for f in vars(type(here)).values() if inspect.isfunction(f)]
            continue
        if not is_users(here.__code__.co_filename):
            continue
        codes = list(_codes(here.__code__))
        if any(type(c) is int and abs(c) >= 2**31 for code in codes for c in code.co_consts):
            return True
        names = [name for code in codes for name in code.co_names]
        values = [here.__globals__[name] for name in names if name in here.__globals__]
        for cell in here.__closure__ or ():
            with contextlib.suppress(ValueError):  # not bound yet
                values.append(cell.cell_contents)
        if any(_is_numpys(value) for value in values) and _LARGE & set(names):
            return True
        waiting += [value for value in values if callable(value)]
    return False


def _file_of(kind: type) -> str:
    module = sys.modules.get(kind.__module__)
    if kind.__module__ == "builtins":
        return ""
    return getattr(module, "__file__", None) or "<a notebook>"


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _is_numpys(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        return value.__name__.split(".")[0] == "numpy"
    module = getattr(value, "__module__", None)
    return callable(value) and isinstance(module, str) and module.split(".")[0] == "numpy"


def _wide_constants(program: ClosedJaxpr) -> Iterator[tuple[Any, Place]]:
    constants = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    for equation in program.jaxpr.eqns:
        for variable in equation.invars:
            value = variable.val if isinstance(variable, Literal) else constants.get(variable)
            kind = str(getattr(value, "dtype", ""))
            weak = getattr(variable.aval, "weak_type", False)
            if kind in NARROW and (not weak or "int" in kind):
                place, value = place_of(equation), np.asarray(value)
                if place is not None and not _is_limit(value) and _is_plain(equation):
                    yield value, place
        for part in jaxpr_utils.inner(equation):
            if not jaxpr_utils.is_librarys(part):
                yield from _wide_constants(part)


def _is_limit(value: Any) -> bool:
    """Whether a number is the largest or the least of its dtype, as library functions use them."""
    if np.ndim(value) or value.dtype.kind == "c":
        return False
    limits: Any = np.finfo(value.dtype) if value.dtype.kind == "f" else np.iinfo(value.dtype)
    return value in (limits.max, limits.min, getattr(limits, "tiny", None))


def _is_plain(equation: Any) -> bool:
    """Whether the user's line makes an equation with an operator, or a conversion to an array."""
    for function, file, _ in _jax_compat.frames(equation):
        if is_users(file):
            return True
        name = function.rpartition(".")[2]
        if "/_src/numpy/" in file.replace("\\", "/") and not name.startswith(_ADDED):
            return name in _MAKING
    return False
