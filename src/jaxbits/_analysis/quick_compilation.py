"""Compile programs that run only a few times, with little optimization."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from jaxbits import _jax_compat
from jaxbits._analysis import jaxpr_utils

_MAX_ELEMENTS = 300_000
"""The mean number of elements per equation up to which less optimization saves time.

On a CPU, it saves at least 2 ms per equation when XLA compiles a program, and it costs a few
nanoseconds per element when the program runs.
"""


def jit_quickly(function: Callable[..., Any], program: ClosedJaxpr) -> Callable[..., Any]:
    """Jit a function that runs only a few times, so that its first call takes less time.

    Args:
        function: The function, which must not be called inside another jitted function.
        program: A program that computes about as much as the function.
    """
    if jax.default_backend() != "cpu":  # Other compilers may not know the option.
        return jax.jit(function)
    elements, equations = count_elements(program)
    if elements > _MAX_ELEMENTS * equations:
        return jax.jit(function)
    return jax.jit(function, compiler_options=_jax_compat.quick_cpu_options(equations))


def count_elements(program: ClosedJaxpr, iterations: int = 1) -> tuple[int, int]:
    """Return the number of elements that a program computes, and its number of equations.

    A `while` loop counts as one iteration, because its length is unknown.

    Args:
        program: The program.
        iterations: How many times it runs.

    >>> import jax.numpy as jnp
    >>> def run(x):
    ...     return jax.lax.scan(lambda c, _: (c * 2, None), x, length=10)[0]
    >>> count_elements(jax.make_jaxpr(run)(jnp.ones(3)))
    (33, 2)
    """
    elements, equations = 0, 0
    for equation in program.jaxpr.eqns:
        shapes = (getattr(variable.aval, "shape", ()) for variable in equation.outvars)
        elements += iterations * sum(map(math.prod, shapes))
        equations += 1
        length = equation.params["length"] if equation.primitive.name == "scan" else 1
        for jaxpr in jaxpr_utils.sub_jaxprs(equation):
            inner_elements, inner_equations = count_elements(jaxpr, iterations * length)
            elements, equations = elements + inner_elements, equations + inner_equations
    return elements, equations
