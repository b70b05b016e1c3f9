"""Find the functions of the user that a program or a run jits, including those it maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import is_user_code
from jaxbits._analysis.eager_events import Event


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
    for equation in program.jaxpr.eqns:
        compiled = compiled_program(equation)
        name = _user_function(compiled, equation.params["name"]) if compiled is not None else ""
        if name:
            yield name


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
            name = _user_function(event.program, event.name)
            if name:
                yield name


def _user_function(program: Any, name: str) -> str:
    """Return the name of the user's function that a program compiles, or an empty string.

    Args:
        program: The program.
        name: The name that JAX gives it.
    """
    jaxpr = getattr(program, "jaxpr", program)
    if is_user_code(_jax_compat.source_file(jaxpr)):
        return str(name)
    equations: Any = getattr(jaxpr, "eqns", ())
    if len(equations) == 1 and equations[0].primitive.name == "shard_map":
        return _mapped_function(equations[0].params["jaxpr"])
    return ""


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
