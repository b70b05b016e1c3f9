"""The detector `big_const`: large arrays that become part of the program."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.code_location import CodeLocation, location_of
from jaxbits._analysis.detector import detector
from jaxbits._analysis.finding import Finding
from jaxbits._analysis.function_under_test import FunctionUnderTest
from jaxbits._analysis.inner_programs import name_of_user_call
from jaxbits._analysis.python_state import object_fields
from jaxbits._analysis.repeated_calls import changing_arrays
from jaxbits._analysis.safe_attributes import has_attribute

_WARNING_BYTES, _NOTE_BYTES = 1 << 18, 1 << 15


@detector
def big_const(target: FunctionUnderTest) -> Iterator[Finding]:
    """Find large arrays that become part of a program because a jitted function captures them.

    The detector walks the traced program, including loops and branches, and measures its constants.
    It warns if a single constant or all of them together take up at least 256 KiB, and it adds a
    note for a single constant of at least 32 KiB. The message names the global, closure variable,
    default, or attribute that holds the array. If the function is not jitted but calls jitted
    functions, the arrays that it passes to them or replaces in every call do not count. It cannot
    see arrays that `jax.numpy` creates inside the function, because they are not constants. The
    setting `jax_captured_constants_warn_bytes` comes closest, but its default threshold is 2 GB.

    >>> import jax.numpy as jnp
    >>> from jaxbits import detect
    >>> table = jnp.ones((512, 512))
    >>> found = detect.big_const(lambda x: table @ x, jnp.ones(512))[0]
    >>> found.message, found.evidence
    ('`table` is built into the program as a constant', '1.0 MiB, float32[512,512]')
    >>> detect.big_const(lambda x: jnp.ones((512, 512)) @ x, jnp.ones(512))
    []
    """
    if target.trace.program is None:
        return
    passed = _passed_arrays(target) if target.may_be_driver else set()
    found = list(_constants(target.trace.program, passed))
    large = [pair for pair in found if _bytes_of(pair[0]) >= _NOTE_BYTES]
    names = _names(target) if large else {}
    for value, location in large:
        name = names.get(id(value)) or names.get(_shape_and_kind(value))
        bytes_ = _bytes_of(value)
        yield Finding(
            "warning" if bytes_ >= _WARNING_BYTES else "note",
            f"{f'`{name}`' if name else 'an array'} is built into the program as a constant",
            f"{_format_bytes(bytes_)}, {value.dtype}[{','.join(map(str, value.shape))}]",
            _fix(value),
            location,
        )
    total = sum(_bytes_of(value) for value, _ in found)
    if total >= _WARNING_BYTES and not any(
        _bytes_of(value) >= _WARNING_BYTES for value, _ in large
    ):
        yield Finding(
            "warning",
            f"{len(found)} arrays are built into the program as constants",
            f"{_format_bytes(total)} together",
            "pass them as arguments, in one tree",
            next((location for _, location in found if location), None),
        )


def _fix(value: Any) -> str:
    """Return advice for a constant. XLA can generate numbers that follow a simple rule."""
    if value.ndim == 1 and jnp.issubdtype(value.dtype, jnp.number):
        steps = np.diff(np.asarray(value))
        if steps.size and bool((steps == steps[0]).all()):
            rule = "jnp.arange" if steps[0] else "jnp.full"
            return f"create it in the function with `{rule}`, or pass it as an argument"
    return "pass it as an argument"


def _passed_arrays(target: FunctionUnderTest) -> set[int]:
    """Return the `id` of each captured array that no program contains if nothing jits the function.

    The function only passes such an array to jitted functions, or replaces it in every call.
    """
    program = target.trace.program
    constants = dict(zip(program.jaxpr.constvars, program.consts, strict=True)) if program else {}
    passed, used = set(map(id, changing_arrays(target.every_call))), set[int]()
    for equation in program.jaxpr.eqns if program else ():
        captured = {
            id(atom.val if isinstance(atom, Literal) else constants.get(atom))
            for atom in equation.invars
        }
        (passed if name_of_user_call(equation) else used).update(captured)
    return (passed - used) | set(map(id, changing_arrays(target.every_call)))


def _constants(
    program: Any, left_out: Iterable[int] = ()
) -> Iterator[tuple[Any, CodeLocation | None]]:
    """Yield each array in a program once, with the line that uses it.

    Args:
        program: The program.
        left_out: The `id` of each array to leave out.
    """
    seen = set(left_out)
    visited: set[int] = set()
    waiting: list[tuple[Any, CodeLocation | None]] = [(program, None)]
    while waiting:
        jaxpr, call = waiting.pop()
        if id(jaxpr.jaxpr) in visited:
            continue
        visited.add(id(jaxpr.jaxpr))
        constants = dict(zip(jaxpr.jaxpr.constvars, jaxpr.consts, strict=True))
        unseen = {v: c for v, c in constants.items() if id(c) not in seen and hasattr(c, "dtype")}
        used: set[Any] = set()
        for equation in jaxpr.jaxpr.eqns:
            for variable in equation.invars:
                if isinstance(variable, Literal):
                    value = variable.val
                    if getattr(value, "ndim", 0) and id(value) not in seen:
                        seen.add(id(value))
                        yield value, location_of(equation) or call
                elif variable in unseen and variable not in used:
                    used.add(variable)
                    if id(unseen[variable]) not in seen:
                        seen.add(id(unseen[variable]))
                        line = jaxpr_utils.location_of_use(equation, variable)
                        yield unseen[variable], line or location_of(equation) or call
            for sub_jaxpr in jaxpr_utils.sub_jaxprs(equation):
                waiting.append((sub_jaxpr, location_of(equation) or call))
        for variable, value in unseen.items():
            if variable not in used and id(value) not in seen:
                seen.add(id(value))
                yield value, call


def _bytes_of(value: Any) -> int:
    shape: tuple[int, ...] = tuple(value.shape)
    if jnp.issubdtype(value.dtype, jax.dtypes.extended):
        return 0
    return math.prod(shape) * int(np.dtype(value.dtype).itemsize)


def _format_bytes(bytes_: int) -> str:
    return f"{bytes_ / 2**20:.1f} MiB" if bytes_ >= 2**20 else f"{bytes_ / 2**10:.0f} KiB"


def _shape_and_kind(value: Any) -> tuple[Any, ...]:
    return tuple(value.shape), np.dtype(value.dtype).kind


def _names(target: FunctionUnderTest) -> dict[Any, str]:
    """Return the names of arrays, keyed by each array's `id` and by its shape and dtype kind."""
    found: dict[Any, str] = {}
    for reference in target.references:
        value = reference.get()
        is_array = has_attribute(value, "dtype")
        attributes = () if is_array else object_fields.fields(value) or ()
        paths = jax.tree_util.tree_leaves_with_path((value, attributes))
        for path, leaf in paths:
            if not isinstance(leaf, (jax.Array, np.ndarray)) or not leaf.shape:
                continue
            if path[0] == jax.tree_util.SequenceKey(1):
                name = f"{reference.name}.{getattr(path[1], 'key', '')}"
                name += jax.tree_util.keystr(path[2:])
            else:
                name = reference.name + jax.tree_util.keystr(path[1:])
            found.setdefault(id(leaf), name)
            if not jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
                found.setdefault(_shape_and_kind(leaf), name)
    return found
