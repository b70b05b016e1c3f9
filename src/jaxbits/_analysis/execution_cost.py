"""Estimate how long a program takes on a CPU, from its equations and the shapes of its arrays."""

from __future__ import annotations

import math
from typing import Any

from jaxbits._analysis import jaxpr_utils

# Measured with JAX 0.10.2 on a CPU, where XLA fuses many equations, so these are rough numbers.
_EQUATION, _ELEMENT, _PRODUCT = 0.1, 0.001, 0.00003
"""Microseconds per equation, per element of a result, and per product in a matrix product."""


def estimate_microseconds(jaxpr: Any) -> float:
    """Return about how many microseconds one run of a jaxpr takes on a CPU.

    A `while` loop counts as a single iteration, because the jaxpr does not contain their number.

    >>> import jax, jax.numpy as jnp
    >>> program = jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(jnp.ones(900))
    >>> round(estimate_microseconds(program), 1)
    2.0
    """
    total = 0.0
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        inner = [estimate_microseconds(part) for part in jaxpr_utils.sub_jaxprs(equation)]
        if not inner:
            total += _own_cost(equation)
        elif equation.primitive.name == "cond":
            total += max(inner)
        else:
            total += sum(inner) * int(equation.params.get("length", 1))
    return total


def _own_cost(equation: Any) -> float:
    shapes = [getattr(variable.aval, "shape", ()) for variable in equation.outvars]
    cost = _EQUATION + _ELEMENT * sum(map(math.prod, shapes))
    if equation.primitive.name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        left = equation.invars[0].aval.shape
        cost += _PRODUCT * math.prod(shapes[0]) * math.prod(left[axis] for axis in contracted)
    return cost
