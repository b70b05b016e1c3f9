"""Functions that apply primitives and read their parameters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr


def bind(equation: Any, inputs: Sequence[Any], **changed: Any) -> list[Any]:
    """Apply the primitive of an equation to the given inputs, and return a list of its outputs.

    `Primitive.get_bind_params` returns (functions, parameters) up to JAX 0.9, and only the
    parameters after that: https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/core.py

    Args:
        equation: The equation that provides the primitive and its parameters.
        inputs: The values to apply the primitive to.
        **changed: Values that replace some of the equation's parameters.
    """
    found = equation.primitive.get_bind_params({**equation.params, **changed})
    functions, parameters = found if isinstance(found, tuple) else ((), found)
    outputs = equation.primitive.bind(*functions, *inputs, **parameters)
    return list(outputs) if equation.primitive.multiple_results else [outputs]


def scan_counts(equation: Any) -> tuple[int, int]:
    """Return how many constants and how many carried values a `lax.scan` equation has.

    Up to JAX 0.11, these are the parameters `num_consts` and `num_carry`. Since 0.12, they are the
    sizes of two parts of the tree `ft_in`:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/control_flow/loops.py

    >>> jaxpr = jax.make_jaxpr(lambda x: jax.lax.scan(lambda c, v: (c + v, c), 0.0, x))
    >>> scan_counts(jaxpr(jax.numpy.ones(3)).eqns[-1])
    (0, 1)
    """
    parameters = equation.params
    if "num_consts" in parameters:
        return int(parameters["num_consts"]), int(parameters["num_carry"])
    tree = parameters["ft_in"].update(range(len(equation.invars)))
    constants, carry, _ = map(list, tree.unpack())
    return len(constants), len(carry)


def primitive_name(equation: Any) -> str:
    """Return the name of the primitive of an equation.

    In JAX 0.12, `jnp.nonzero` with a `size` is a primitive `call_hi_primitive`, whose parameter
    `_prim` has a class named `Nonzero`. JAX 0.7.2 and 0.10.2 have no such primitive.

    >>> primitive_name(jax.make_jaxpr(lambda x: x + 1)(1).eqns[0])
    'add'
    """
    hidden = equation.params.get("_prim")
    return str(equation.primitive.name) if hidden is None else type(hidden).__name__


def remove_dead_code(program: ClosedJaxpr, is_used: Sequence[bool] | None = None) -> ClosedJaxpr:
    """Return a program without the equations that neither its results nor its effects need.

    The program keeps all of its inputs, but of its results only those that are used. It is returned
    unchanged if JAX lacks `dce_jaxpr`, which exists in JAX 0.7.2 through 0.12:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/interpreters/partial_eval.py

    Args:
        program: The program.
        is_used: For each result, whether it is used. The default is all of them.

    >>> traced = jax.make_jaxpr(lambda x: (jax.numpy.sin(x), x + 1)[1])(1.0)
    >>> [equation.primitive.name for equation in remove_dead_code(traced).eqns]
    ['add']
    """
    try:
        from jax.interpreters.partial_eval import dce_jaxpr
    except ImportError:
        return program
    used = [True] * len(program.jaxpr.outvars) if is_used is None else list(is_used)
    jaxpr, _ = dce_jaxpr(program.jaxpr, used, instantiate=True)
    return ClosedJaxpr(jaxpr, program.consts)


def keep_outputs(program: ClosedJaxpr, keeps: Sequence[bool]) -> ClosedJaxpr:
    """Return a program with only some of its outputs, and with all of its equations.

    The program is returned unchanged if JAX lacks `Jaxpr.replace`, which exists in JAX 0.10.2:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/core.py

    Args:
        program: The program.
        keeps: For each output, whether to keep it.

    >>> traced = jax.make_jaxpr(lambda x: (jax.numpy.sin(x), x))(1.0)
    >>> len(keep_outputs(traced, [True, False]).out_avals)
    1
    """
    jaxpr: Any = program.jaxpr
    outputs = list(itertools.compress(jaxpr.outvars, keeps))
    with suppress(AttributeError, TypeError, ValueError):
        # The debugging information names the outputs, and JAX compares their number.
        info = jaxpr.debug_info._replace(result_paths=None)
        return ClosedJaxpr(jaxpr.replace(outvars=outputs, debug_info=info), program.consts)
    return program


def cast(array: Any, dtype: Any, *, weak_type: bool) -> jax.Array:
    """Return an array cast to another dtype, either weakly or strongly typed.

    JAX's public casts always return a strongly typed array, and so does this function if JAX lacks
    the private function used here. It exists in JAX 0.7.2 through 0.12:
    https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/lax.py

    Args:
        array: The array to cast.
        dtype: The dtype to cast it to.
        weak_type: Whether the result should be weakly typed.

    >>> cast(jax.numpy.ones(2), "float32", weak_type=True).weak_type
    True
    """
    if weak_type:
        with suppress(ImportError, TypeError):
            from jax._src.lax.lax import _convert_element_type

            weak: jax.Array = _convert_element_type(array, np.dtype(dtype), weak_type=True)
            return weak
    return jax.lax.convert_element_type(array, dtype)
