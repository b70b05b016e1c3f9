"""Walks over the program that JAX traced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import Place, is_users, place_of

_INLINED = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_LOOPS = {"cond", "scan", "while"}


def called(equation: Any) -> ClosedJaxpr | None:
    """Return the program that a call (of jit, remat, a custom rule …) runs once, else None."""
    if equation.primitive.name in _LOOPS or "kernel" in equation.primitive.name:
        return None
    for name in _INLINED:
        inner = equation.params.get(name)
        if isinstance(inner, ClosedJaxpr):
            found: ClosedJaxpr | None = inner
        elif isinstance(inner, Jaxpr) and not inner.constvars:
            found = ClosedJaxpr(inner, ())
        else:
            continue
        if found and len(found.jaxpr.invars) == len(equation.invars):
            return found
    return None


def is_librarys(program: ClosedJaxpr) -> bool:
    """Whether a called program is a library's own: its lines say nothing to the user."""
    file = _jax_compat.home_of(program.jaxpr)
    return bool(file) and not is_users(file)


def inner(equation: Any) -> Iterator[ClosedJaxpr]:
    """Yield the programs inside of an equation's parameters."""
    for value in equation.params.values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, ClosedJaxpr):
                yield part
            elif isinstance(part, Jaxpr):
                yield ClosedJaxpr(part, ())


def programs(program: ClosedJaxpr) -> Iterator[ClosedJaxpr]:
    """Yield a program and all programs inside of it."""
    waiting = [program]
    while waiting:
        here = waiting.pop()
        yield here
        waiting += [p for equation in here.jaxpr.eqns for p in inner(equation)]


def equations(program: ClosedJaxpr) -> Iterator[Any]:
    """Yield the equations of a program, at all depths.

    >>> import jax
    >>> traced = jax.make_jaxpr(jax.jit(lambda x: x * x + 1.0))(2.0)
    >>> [equation.primitive.name for equation in equations(traced)][1:]
    ['mul', 'add']
    """
    for here in programs(program):
        yield from here.jaxpr.eqns


def placed(program: ClosedJaxpr, at: Place | None = None) -> Iterator[tuple[Any, Place | None]]:
    """Yield all equations with their lines; a library's own stand where it is called."""
    for equation in program.jaxpr.eqns:
        place = at or place_of(equation)
        yield equation, place
        for part in inner(equation):
            yield from placed(part, place if at or is_librarys(part) else None)


def escaped(program: ClosedJaxpr) -> tuple[Any, Any] | None:
    """Return a value that is used where nothing defines it, with the first equation that uses it.

    It was traced inside of another transformation and kept past its end: `jax.make_jaxpr` takes it
    for a constant, or leaves it undefined. None where there is none.
    """
    constants = zip(program.jaxpr.constvars, program.consts, strict=True)
    known = {variable for variable, value in constants if not isinstance(value, Tracer)}
    known |= {*program.jaxpr.invars}
    for equation in program.jaxpr.eqns:
        for used in equation.invars:
            if not isinstance(used, Literal) and used not in known:
                return used, equation
        known.update(equation.outvars)
    for used in program.jaxpr.outvars:
        if not isinstance(used, Literal) and used not in known:
            return used, None
    return None


def value_or(environment: dict[Any, Any], variable: Any, literal: Any = None) -> Any:
    """Read a variable of a jaxpr; for a literal, its value, passed through `literal` if given."""
    if isinstance(variable, Literal):
        return literal(variable.val) if literal else variable.val
    return environment[variable]
