"""Find 64-bit numbers that reach a function without being passed as arguments."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import (
    CodeLocation,
    is_user_code,
    location_of,
    location_of_code,
)
from jaxbits._analysis.copying import is_array
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.inner_limits import LIMITS
from jaxbits._analysis.python_state.iterators import is_iterator
from jaxbits._analysis.python_state.references import is_user_class, nested_codes
from jaxbits._analysis.safe_attributes import get_attribute, unwrap
from jaxbits._analysis.trace import trace_function

NARROWED = {
    "int64": np.int32,
    "uint64": np.uint32,
    "float64": np.float32,
    "complex128": np.complex64,
}
"""The dtype to which JAX converts values of each 64-bit dtype while x64 is off."""

_MAX_FUNCTIONS = 500
# `jax.numpy` functions that lie between an equation and the operator or `jnp.asarray` in user code:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/numpy/array_methods.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/numpy/array_constructors.py
_CONVERSION_PREFIXES_WORDS = (
    "_operator_ deferring_binary_op __call__ promote_ asarray array cache_miss"
)
_CONVERSION_PREFIXES = tuple(_CONVERSION_PREFIXES_WORDS.split())
_PLAIN_FUNCTIONS_WORDS = "op where _where add multiply subtract full arange _arange"
_PLAIN_FUNCTIONS = frozenset(_PLAIN_FUNCTIONS_WORDS.split())
_WIDE_FUNCTIONS_WORDS = (
    "array asarray int64 uint64 float64 complex128 arange linspace full logspace geomspace power "
    "cumprod cumsum prod frombuffer fromiter load datetime64 timedelta64 astype random"
)
_WIDE_FUNCTIONS = frozenset(_WIDE_FUNCTIONS_WORDS.split())
"""NumPy functions that create numbers that may not fit into 32 bits."""


def is_wide(value: Any) -> bool:
    """Return whether a value is a NumPy array or scalar with a dtype that JAX truncates."""
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.name in NARROWED


def captured_values(target: FunctionUnderTest) -> Iterator[tuple[str, Any, CodeLocation | None]]:
    """Yield each wide NumPy value that the function captures, with its name and location."""
    function: Any = target.function
    while isinstance(function, functools.partial):
        for path, leaf in jax.tree_util.tree_leaves_with_path((function.args, function.keywords)):
            if is_wide(leaf):
                yield f"partial{jax.tree_util.keystr(path[1:])}", leaf, None
        function = function.func
    for reference in target.references:
        wide = list(filter(is_wide, _leaves(reference.get())))
        if len(wide) > LIMITS.wide_values:
            message = f"x64: only {LIMITS.wide_values} of {len(wide)} 64-bit values were examined"
            target.left_out.append(f"{message} in `{reference.name}`")
        for leaf in wide[: LIMITS.wide_values]:
            yield reference.name, leaf, reference.location


def _leaves(value: Any) -> list[Any]:
    if not isinstance(value, (dict, list, tuple)):
        return [value]
    try:
        return jax.tree.leaves(value)
    except ValueError:  # JAX cannot flatten a dictionary whose keys cannot be sorted.
        return list(value.values()) if isinstance(value, dict) else list(value)


def float_literals(target: FunctionUnderTest) -> Iterator[tuple[float, CodeLocation]]:
    """Yield each floating-point literal in the function's own code, with its location."""
    if target.trace.program is None:
        return
    function = unwrap(target.function)
    while isinstance(function, functools.partial):
        function = function.func
    function = get_attribute(function, "__func__", function)
    outer = get_attribute(function, "__code__")
    if outer is None or not is_user_code(outer.co_filename):
        return
    for code in nested_codes(outer):
        for constant in code.co_consts:
            for number in constant if isinstance(constant, tuple) else (constant,):
                if type(number) is float:
                    yield number, location_of_code(code)


def wide_constants(target: FunctionUnderTest) -> Iterator[tuple[Any, CodeLocation]]:
    """Yield each 64-bit value that the function creates in NumPy and passes to JAX.

    A second trace with x64 enabled shows these values before JAX truncates them.
    """
    if target.trace.program is None or not _may_create_wide_values(target.function):
        return
    args, kwargs = jax.tree.map(
        lambda leaf: jax.numpy.asarray(leaf) if is_wide(leaf) and is_array(leaf) else leaf,
        (target.args, target.kwargs),
        is_leaf=is_iterator,
    )
    with _jax_compat.x64_on():
        again = trace_function(target.function, args, kwargs, target.references, target.trace)
        program = again.program
    if program is not None:
        yield from _constants_in(program)


def _may_create_wide_values(function: Any) -> bool:
    """Return whether a second trace is worth the time it takes.

    It is worth the time if the function, or a user function that it calls, uses NumPy functions
    that create wide values or contains an integer literal that does not fit into 32 bits. It is
    also worth the time if there are too many functions to search.
    """
    waiting, seen = [function], set[int]()
    while waiting and len(seen) < _MAX_FUNCTIONS:
        current = waiting.pop()
        if isinstance(current, functools.partial):
            waiting += [current.func, *current.args, *current.keywords.values()]
            continue
        current = unwrap(current) if callable(current) else current
        current = get_attribute(current, "__func__", current)
        if id(current) in seen:
            continue
        seen.add(id(current))
        if not isinstance(current, types.FunctionType):
            if not isinstance(current, types.ModuleType) and is_user_class(type(current)):
                waiting += [f for f in vars(type(current)).values() if inspect.isfunction(f)]
            continue
        if not is_user_code(current.__code__.co_filename):
            continue
        codes = list(nested_codes(current.__code__))
        if any(type(c) is int and abs(c) >= 2**31 for code in codes for c in code.co_consts):
            return True
        names = [name for code in codes for name in code.co_names]
        values = [current.__globals__[name] for name in names if name in current.__globals__]
        for cell in current.__closure__ or ():
            with contextlib.suppress(ValueError):  # The closure cell may not have a value yet.
                values.append(cell.cell_contents)
        if any(_is_from_numpy(value) for value in values) and _WIDE_FUNCTIONS & set(names):
            return True
        waiting += [value for value in values if callable(value)]
    return bool(waiting)


def _is_from_numpy(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        return value.__name__.split(".")[0] == "numpy"
    module = getattr(value, "__module__", None)
    return callable(value) and isinstance(module, str) and module.split(".")[0] == "numpy"


def _constants_in(program: ClosedJaxpr) -> Iterator[tuple[Any, CodeLocation]]:
    constants = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    for equation in program.jaxpr.eqns:
        for atom in equation.invars:
            value = atom.val if isinstance(atom, Literal) else constants.get(atom)
            dtype = str(getattr(value, "dtype", ""))
            is_weak = getattr(atom.aval, "weak_type", False)
            if dtype in NARROWED and (not is_weak or "int" in dtype):
                location, value = location_of(equation), np.asarray(value)
                if location is not None and not _is_limit(value) and _is_direct(equation):
                    yield value, location
        for jaxpr in jaxpr_utils.sub_jaxprs(equation):
            if not jaxpr_utils.is_library_jaxpr(jaxpr):
                yield from _constants_in(jaxpr)


def _is_limit(value: Any) -> bool:
    """Return whether a number is the smallest or largest value of its dtype.

    Library functions insert such limits, so they say nothing about the user's code.
    """
    if np.ndim(value) or value.dtype.kind == "c":
        return False
    limits: Any = np.finfo(value.dtype) if value.dtype.kind == "f" else np.iinfo(value.dtype)
    return value in (limits.max, limits.min, getattr(limits, "tiny", None))


def _is_direct(equation: Any) -> bool:
    """Return whether an equation comes from an operator or a conversion in user code."""
    for function, file, _ in _jax_compat.frames(equation):
        if is_user_code(file):
            return True
        name = function.rpartition(".")[2]
        is_jax_numpy = "/_src/numpy/" in file.replace("\\", "/")
        if is_jax_numpy and not name.startswith(_CONVERSION_PREFIXES):
            return name in _PLAIN_FUNCTIONS
    return False
