"""Find the conversions that type promotion may have added to a program, with their context."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import CodeLocation, is_user_code

_JAX_FOLDER = os.path.dirname(jax.__file__) + os.sep
_NUMPY_FOLDER = os.path.join("_src", "numpy")
_PRIVATE_FILES = ("random", "random.py", "prng.py", "indexing.py", "scatter.py", "slicing.py")
"""JAX's files and folders for random numbers and indexing, whose code does its own arithmetic."""

# A comparison gives the same result on widened operands, so it does no harm.
_COMPARISONS = {"lt", "le", "gt", "ge", "eq", "ne", "sign", "is_finite"}
# Primitives that return the integers in their input unchanged.
_PASSING = {
    *("broadcast_in_dim", "reshape", "squeeze", "slice", "transpose", "rev", "copy"),
    *("gather", "dynamic_slice", "stop_gradient", "expand_dims"),
}

IntegerValues = dict[Any, Any]


@dataclass
class ConversionContext:
    """The library functions that enclose a conversion, and the integers known at that point.

    Attributes:
        location: The line of user code that calls the enclosing library function, if any.
        calls: The names of the enclosing library functions, innermost last.
        is_hidden: Whether the conversion is inside a library function.
        is_jax_numpy: Whether user code directly calls the enclosing `jax.numpy` function.
        has_other_library: Whether any of the functions belongs to a library other than JAX.
        integers: The known integer values, keyed by variable.
    """

    location: CodeLocation | None = None
    calls: tuple[str, ...] = ()
    is_hidden: bool = False
    is_jax_numpy: bool = False
    has_other_library: bool = False
    integers: IntegerValues = field(default_factory=dict)


def find_conversions(
    program: ClosedJaxpr, context: ConversionContext
) -> Iterator[tuple[Any, ConversionContext]]:
    """Yield each equation that promotion may have added, together with its context.

    Args:
        program: The program to search.
        context: The context in which the program itself runs.
    """
    integers = context.integers
    for variable, value in zip(program.jaxpr.constvars, program.consts, strict=True):
        record_integer(integers, variable, value)
    candidates: list[Any] = []
    used_by: dict[Any, set[str]] = {}
    for equation in program.jaxpr.eqns:
        name = equation.primitive.name
        for variable in equation.invars:
            if not isinstance(variable, Literal) and variable in used_by:
                used_by[variable].add(name)
        if name == "iota":
            integers[equation.outvars[0]] = int(
                equation.params["shape"][equation.params["dimension"]]
            )
        elif name in _PASSING and not isinstance(equation.invars[0], Literal):
            if equation.invars[0] in integers:
                integers[equation.outvars[0]] = integers[equation.invars[0]]
        elif name == "convert_element_type" and _is_harmful_conversion(equation, integers):
            used_by[equation.outvars[0]] = set()
            candidates.append(equation)
        elif name == "dot_general" and _has_mixed_operands(equation):
            candidates.append(equation)
        for jaxpr in jaxpr_utils.sub_jaxprs(equation):
            yield from find_conversions(jaxpr, _enter(equation, jaxpr, context))
    for equation in candidates:
        users = used_by.get(equation.outvars[0])
        if not users or not users <= _COMPARISONS:
            yield equation, context


def _enter(equation: Any, jaxpr: ClosedJaxpr, context: ConversionContext) -> ConversionContext:
    integers: IntegerValues = {}
    if jaxpr_utils.called_jaxpr(equation) is not None:
        for outer, inner in zip(equation.invars, jaxpr.jaxpr.invars, strict=True):
            if not isinstance(outer, Literal) and outer in context.integers:
                integers[inner] = context.integers[outer]
    if not (context.is_hidden or jaxpr_utils.is_library_jaxpr(jaxpr)):
        return ConversionContext(integers=integers)
    location, calls, has_other_library = context.location, context.calls, context.has_other_library
    if not context.is_hidden:
        names, has_other_library, location = library_frames(equation)
        calls = tuple(names)
    calls += (str(equation.params.get("name", "")),)
    is_jax_numpy = not context.is_hidden and _NUMPY_FOLDER in _jax_compat.source_file(jaxpr.jaxpr)
    return ConversionContext(location, calls, True, is_jax_numpy, has_other_library, integers)


def record_integer(integers: IntegerValues, variable: Any, value: Any) -> None:
    """Record the value of a variable if it is an integer.

    Args:
        integers: The known integer values, keyed by variable.
        variable: The variable to record.
        value: The value of the variable, which may be of any type.
    """
    dtype = getattr(variable.aval, "dtype", None)
    if dtype is not None and jnp.issubdtype(dtype, jnp.integer):
        integers[variable] = value


def largest_integer(value: Any) -> int:
    """Return the largest absolute value in an integer array, or 0 if it is unknown."""
    if isinstance(value, jax.core.Tracer) or not np.size(value):
        return 0
    array = np.asarray(value)
    return max(abs(int(array.max())), abs(int(array.min())))


def _is_harmful_conversion(equation: Any, integers: IntegerValues) -> bool:
    """Return whether a conversion is harmful and could have been added by promotion."""
    aval = equation.invars[0].aval
    old, new = aval.dtype, jnp.dtype(equation.params["new_dtype"])
    if getattr(aval, "weak_type", False) or equation.params.get("weak_type") or old == new:
        return False
    if jnp.issubdtype(old, jnp.floating) and jnp.issubdtype(new, jnp.floating):
        return bool(new.itemsize > old.itemsize)
    if not jnp.issubdtype(old, jnp.integer):
        return False
    if jnp.issubdtype(new, jnp.integer):
        return bool(new.itemsize >= old.itemsize)
    # An integer that becomes a float is harmless unless it is too large for the float.
    source = equation.invars[0]
    if not jnp.issubdtype(new, jnp.floating) or isinstance(source, Literal):
        return False
    return largest_integer(integers.get(source, 0)) > largest_exact_integer(
        equation.outvars[0].aval
    )


def _has_mixed_operands(equation: Any) -> bool:
    """Return whether a product has two float or two integer operands with different dtypes."""
    a, b = (variable.aval.dtype for variable in equation.invars[:2])
    floats = jnp.issubdtype(a, jnp.floating) and jnp.issubdtype(b, jnp.floating)
    integers = jnp.issubdtype(a, jnp.integer) and jnp.issubdtype(b, jnp.integer)
    return bool(a != b and (floats or integers))


def library_frames(equation: Any) -> tuple[list[str], bool, CodeLocation | None]:
    """Return the library functions between user code and an equation, and the line of user code.

    Returns:
        The names of the library functions, whether any of them is not part of JAX, and the line. A
        function in one of JAX's private files is listed as ``asarray``, because it promotes none
        of the user's values.
    """
    names: list[str] = []
    has_other_library = False
    for function, file, line in _jax_compat.frames(equation):
        if is_user_code(file):
            return names, has_other_library, CodeLocation(file, line, function)
        if file.startswith(_JAX_FOLDER):
            is_private = any(
                jaxpr in _PRIVATE_FILES for jaxpr in file[len(_JAX_FOLDER) :].split(os.sep)
            )
            names.append("asarray" if is_private else function.rpartition(".")[2])
        elif "site-packages" in file or "dist-packages" in file:
            has_other_library = True
            names.append(function.rpartition(".")[2])
    return names, has_other_library, None


def largest_exact_integer(aval: Any) -> int:
    """Return the largest n such that a float dtype represents all integers up to n exactly."""
    return int(2 ** (int(jnp.finfo(aval.dtype).nmant) + 1))  # type: ignore[no-untyped-call]
