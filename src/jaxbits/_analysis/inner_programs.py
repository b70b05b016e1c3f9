"""Find the functions of the user that a program or a run jits, including those it maps."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import (
    is_acting_code,
    is_direct_call,
    is_other_library,
    is_user_code,
    is_wrapper_library,
)
from jaxbits._analysis.device_maps import is_map
from jaxbits._analysis.eager_events import Event
from jaxbits._analysis.wrapped_call import has_stages

_MAX_SEARCHED = 200
"""In how many equations of a program to look for the function that it compiles."""


def names_in_program(program: ClosedJaxpr) -> Iterator[str]:
    """Yield the names of the user's jitted functions that a program calls.

    Functions of `jax.pmap` count as well.

    >>> import jax
    >>> @jax.jit
    ... def step(x):
    ...     return x + 1
    >>> list(names_in_program(jax.make_jaxpr(lambda x: step(x) * 2)(1.0)))
    ['step']
    """
    yield from filter(None, map(name_of_user_call, program.jaxpr.eqns))


def name_of_user_call(equation: Any) -> str:
    """Return the name of the user's jitted function that an equation calls, or an empty string."""
    compiled = compiled_program(equation)
    if compiled is None:
        return ""
    files = (file for _, file, _ in _jax_compat.frames(equation))
    return _user_function(compiled, equation.params["name"], is_direct_call(files))


def compiled_program(equation: Any) -> Any:
    """Return the program of an equation that calls a jitted function, or None for other equations.

    Functions of `jax.pmap` are jitted, too. Older versions of JAX have a primitive for them:
    https://github.com/jax-ml/jax/blob/jax-v0.7.2/jax/_src/interpreters/pxla.py
    """
    if equation.primitive.name in ("jit", "pjit"):
        return equation.params["jaxpr"]
    return equation.params["call_jaxpr"] if equation.primitive.name == "xla_pmap" else None


def names_in_run(events: Iterable[Event]) -> Iterator[str]:
    """Yield the names of the user's jitted functions that ran outside any trace."""
    for event in events:
        if event.kind == "dispatch" and event.name.isidentifier() and not event.is_tracing:
            name = _user_function(event.program, event.name, event.is_direct)
            if name:
                yield name


def _user_function(program: Any, name: str, is_direct: bool) -> str:
    """Return the name of the user's function that a program compiles, or an empty string.

    A function that a library made, such as a model's `apply`, counts if the user jits it.

    Args:
        program: The program.
        name: The name that JAX gives it.
        is_direct: Whether the user's own code calls it.
    """
    jaxpr = getattr(program, "jaxpr", program)
    file = _jax_compat.source_file(jaxpr)
    if is_user_code(file):
        return str(name)
    if is_map(jaxpr):
        return _mapped_function(jaxpr.eqns[0].params["jaxpr"])
    if not is_direct or not is_other_library(file):
        return ""
    function, inner_file = _entered_function(jaxpr)
    if is_wrapper_library(file) and inner_file:
        is_users = is_user_code(inner_file) or not _is_jitted_in(inner_file, function)
    else:
        is_users = not _is_jitted_in(file, name)
    return str(name) if is_users else ""


def _entered_function(jaxpr: Any) -> tuple[str, str]:
    """Return the first function that a wrapper's program calls, and its file, or empty strings."""
    for equation in getattr(jaxpr, "eqns", ())[:_MAX_SEARCHED]:
        for function, file, _ in reversed(_jax_compat.frames(equation)):
            if is_acting_code(file):
                return function.rpartition(".")[2], file
    return "", ""


def _is_jitted_in(file: str, name: str) -> bool:
    """Return whether a library's own module defines a function as jitted, or a class in it does."""
    modules = [
        module
        for module in list(sys.modules.values())
        if isinstance(module, types.ModuleType) and vars(module).get("__file__") == file
    ]
    classes = [v for module in modules for v in vars(module).values() if isinstance(v, type)]
    found = [vars(holder).get(name) for holder in (*modules, *classes)]
    return any(map(has_stages, found))


def _mapped_function(jaxpr: Any) -> str:
    """Return the name of the user's function that JAX calls in a `shard_map`, or an empty string.

    `jax.pmap` maps a function of its own, which calls the user's function.
    """
    outer = _jax_compat.source_file(jaxpr)
    for equation in jaxpr.eqns:
        for function, file, _ in _jax_compat.frames(equation):
            if file == outer:
                break
            if is_user_code(file):
                return function.rpartition(".")[2]
    return ""
