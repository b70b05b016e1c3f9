"""Functions that walk the sub-jaxprs, equations, and variables of a traced program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxbits import _jax_compat
from jaxbits._analysis.code_location import CodeLocation, is_user_code, location_of

# The parameters in which calls (`jit`, `remat`, custom derivatives) store their jaxpr:
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/pjit.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/custom_derivatives.py
_CALL_PARAMETERS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_MAX_SEARCHED = 200
"""The number of equations in which `is_library_jaxpr` looks for user code."""
_CONTROL_FLOW = {"cond", "scan", "while"}


def called_jaxpr(equation: Any) -> ClosedJaxpr | None:
    """Return the jaxpr that a call runs exactly once, or None if the equation is not a call."""
    name = equation.primitive.name
    if name in _CONTROL_FLOW or "kernel" in name:
        return None
    for parameter in _CALL_PARAMETERS:
        jaxpr = equation.params.get(parameter)
        if isinstance(jaxpr, Jaxpr) and not jaxpr.constvars:
            jaxpr = ClosedJaxpr(jaxpr, ())
        if isinstance(jaxpr, ClosedJaxpr) and len(jaxpr.jaxpr.invars) == len(equation.invars):
            found: ClosedJaxpr = jaxpr
            return found
    return None


def is_library_jaxpr(jaxpr: ClosedJaxpr) -> bool:
    """Return whether a jaxpr was traced from a library function that calls no user code.

    A library's wrapper, such as a filtering `jit`, may trace a function of its own that does hardly
    more than call the user's function. `jax.pmap` traces one that only maps the user's function.
    """
    file = _jax_compat.source_file(jaxpr.jaxpr)
    if not file or is_user_code(file):
        return False
    if [equation.primitive.name for equation in jaxpr.jaxpr.eqns] == ["shard_map"]:
        return all(map(is_library_jaxpr, sub_jaxprs(jaxpr.jaxpr.eqns[0])))
    return not any(map(location_of, jaxpr.jaxpr.eqns[:_MAX_SEARCHED]))


def sub_jaxprs(equation: Any) -> Iterator[ClosedJaxpr]:
    """Yield the jaxprs among the parameters of an equation."""
    for parameter in equation.params.values():
        for value in parameter if isinstance(parameter, (tuple, list)) else (parameter,):
            if isinstance(value, ClosedJaxpr):
                yield value
            elif isinstance(value, Jaxpr):
                yield ClosedJaxpr(value, ())


def all_jaxprs(program: ClosedJaxpr) -> Iterator[ClosedJaxpr]:
    """Yield a program and all of its nested sub-jaxprs."""
    waiting = [program]
    while waiting:
        jaxpr = waiting.pop()
        yield jaxpr
        waiting += [p for equation in jaxpr.jaxpr.eqns for p in sub_jaxprs(equation)]


def all_equations(program: ClosedJaxpr) -> Iterator[Any]:
    """Yield the equations of a program, including those of all nested sub-jaxprs.

    >>> import jax
    >>> traced = jax.make_jaxpr(jax.jit(lambda x: x * x + 1.0))(2.0)
    >>> [equation.primitive.name for equation in all_equations(traced)][1:]
    ['mul', 'add']
    """
    for jaxpr in all_jaxprs(program):
        yield from jaxpr.jaxpr.eqns


def donates(program: ClosedJaxpr) -> bool:
    """Return whether a program calls a jitted function that donates an argument."""
    return any(any(e.params.get("donated_invars", ())) for e in all_equations(program))


def located_equations(
    program: ClosedJaxpr, call: CodeLocation | None = None
) -> Iterator[tuple[Any, CodeLocation | None]]:
    """Yield each equation, including those of nested sub-jaxprs, with its line of user code.

    Args:
        program: The program to walk.
        call: The line that calls the library function to which the program belongs, if any.
    """
    for equation in program.jaxpr.eqns:
        location = call or location_of(equation)
        yield equation, location
        for jaxpr in sub_jaxprs(equation):
            is_hidden = call is not None or is_library_jaxpr(jaxpr)
            yield from located_equations(jaxpr, location if is_hidden else None)


def location_of_output(program: ClosedJaxpr, index: int) -> CodeLocation | None:
    """Return the line of user code that computes a result of a program, or None if it is unknown.

    Args:
        program: The program.
        index: The index of the result.
    """
    variable = program.jaxpr.outvars[index]
    for equation in reversed(program.jaxpr.eqns):
        if variable in equation.outvars:
            called = called_jaxpr(equation)
            inner = None
            if called is not None and len(called.jaxpr.outvars) == len(equation.outvars):
                inner = location_of_output(called, equation.outvars.index(variable))
            return inner or location_of(equation)
    return None


def location_of_use(equation: Any, variable: Any) -> CodeLocation | None:
    """Return the line in a loop, branch, or call that uses a variable, or None if there is none.

    Args:
        equation: An equation with the variable among its inputs.
        variable: The variable.
    """
    for jaxpr, inputs in inner_inputs(equation):
        inner = [
            i for i, outer in zip(jaxpr.jaxpr.invars, inputs, strict=False) if outer is variable
        ]
        for user in jaxpr.jaxpr.eqns:
            for used in (v for v in user.invars if any(v is i for i in inner)):
                return location_of_use(user, used) or location_of(user)
    return None


def inner_inputs(equation: Any) -> Iterator[tuple[ClosedJaxpr, list[Any]]]:
    """Yield each sub-jaxpr of an equation with the inputs of the equation that it receives."""
    inputs, params = list(equation.invars), equation.params
    if equation.primitive.name == "while":
        counts = params["cond_nconsts"], params["body_nconsts"]
        carry = inputs[sum(counts) :]
        yield params["cond_jaxpr"], inputs[: counts[0]] + carry
        yield params["body_jaxpr"], inputs[counts[0] : sum(counts)] + carry
    elif equation.primitive.name == "cond":
        for branch in params["branches"]:
            yield branch, inputs[1:]
    else:
        for jaxpr in sub_jaxprs(equation):
            if len(jaxpr.jaxpr.invars) == len(inputs):
                yield jaxpr, inputs


def find_escaped_tracer(program: ClosedJaxpr) -> tuple[Any, Any] | None:
    """Return a value that nothing in the program defines, and the first equation that uses it.

    Such a value is a tracer that outlived the transformation that created it. `jax.make_jaxpr`
    treats it as a constant or leaves it undefined.

    Returns:
        The variable and the equation, or None if every value is defined. The equation is None if
        the program returns the value without using it.
    """
    constants = zip(program.jaxpr.constvars, program.consts, strict=True)
    known = {variable for variable, value in constants if not isinstance(value, Tracer)}
    known |= {*program.jaxpr.invars}
    for equation in program.jaxpr.eqns:
        for atom in equation.invars:
            if not isinstance(atom, Literal) and atom not in known:
                return atom, equation
        known.update(equation.outvars)
    for atom in program.jaxpr.outvars:
        if not isinstance(atom, Literal) and atom not in known:
            return atom, None
    return None


def are_literals(program: ClosedJaxpr) -> list[bool]:
    """Return, for each result of a program, whether it is a number that the program contains.

    >>> import jax
    >>> are_literals(jax.make_jaxpr(jax.jit(lambda x: (x + 1, -float("inf"))))(2.0))
    [False, True]
    """
    known: set[Any] = set()
    for equation in program.jaxpr.eqns:
        called = called_jaxpr(equation)
        if called is not None:
            pairs = zip(equation.outvars, are_literals(called), strict=True)
            known.update(variable for variable, is_literal in pairs if is_literal)
    return [isinstance(atom, Literal) or atom in known for atom in program.jaxpr.outvars]


def read_atom(environment: dict[Any, Any], atom: Any) -> Any:
    """Return the value of a variable or literal in a jaxpr.

    Args:
        environment: The values of the variables.
        atom: The variable or literal.
    """
    return atom.val if isinstance(atom, Literal) else environment[atom]
