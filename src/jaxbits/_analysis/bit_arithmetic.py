"""Integer arithmetic that wraps around on purpose, as in hashes, random generators, and masks."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.probes import Site

_BITWISE = {"xor", "or", "not", "shift_right_logical", "population_count", "clz"}
# The multipliers of string hashes, such as 33 (djb2) and 65599 (sdbm):
# http://www.cse.yorku.ca/~oz/hash.html
_HASH_MULTIPLIERS = {31, 33, 37, 65599, 131, 137, 257, 263}
# A value that passes through one of these primitives still counts as an input or output of a
# bitwise operation.
_PASSING = {"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "add", "sub", "mul"}
_PASSING |= {"shift_left", "slice", "transpose", "concatenate", "select_n"}


class BitArithmetic:
    """The integer arithmetic that a program mixes with bitwise operations."""

    def __init__(self, program: ClosedJaxpr) -> None:
        self._jaxpr_of: dict[int, Jaxpr] = {}
        for inner in jaxpr_utils.all_jaxprs(program):
            self._jaxpr_of.update((id(equation), inner.jaxpr) for equation in inner.jaxpr.eqns)

    def includes(self, site: Site) -> bool:
        """Return whether the equation at a site is part of this arithmetic."""
        jaxpr, dtype = self._jaxpr_of.get(id(site.equation)), site.equation.outvars[0].aval.dtype
        if jaxpr is None:
            return False
        if jnp.issubdtype(dtype, jnp.signedinteger):
            return self._reaches_bitwise(site.equation, jaxpr) or self._comes_from_bitwise(
                site.equation, jaxpr
            )
        enclosing = [jaxpr] + [
            self._jaxpr_of[id(caller)]
            for caller in site.context.callers
            if id(caller) in self._jaxpr_of
        ]
        same_dtype: list[Any] = [e for jaxpr in enclosing for e in jaxpr.eqns if e.outvars]
        same_dtype = [e for e in same_dtype if e.outvars[0].aval.dtype == dtype]
        if any(e.primitive.name in {*_BITWISE, "and"} for e in same_dtype):
            return True
        is_hash = dtype.itemsize >= 4 and any(_is_hash_step(e) for e in same_dtype)
        return is_hash and site.equation.primitive.name != "sub"

    def _reaches_bitwise(self, equation: Any, jaxpr: Jaxpr) -> bool:
        """Return whether a result reaches a bitwise operation through arithmetic alone."""
        reached = set(map(id, equation.outvars))
        for later in jaxpr.eqns:
            if reached & set(map(id, later.invars)):
                if _is_bitwise(later):
                    return True
                if later.primitive.name in _PASSING:
                    reached |= set(map(id, later.outvars))
        return False

    def _comes_from_bitwise(self, equation: Any, jaxpr: Jaxpr) -> bool:
        """Return whether an input comes from a bitwise operation through arithmetic alone."""
        sources = set(map(id, equation.invars))
        for earlier in reversed(jaxpr.eqns):
            if sources & set(map(id, earlier.outvars)):
                if _is_bitwise(earlier) and earlier.primitive.name != "shift_right_logical":
                    return True
                if earlier.primitive.name in _PASSING:
                    sources |= set(map(id, earlier.invars))
        return False


def _is_bitwise(equation: Any) -> bool:
    """Return whether an equation is a bitwise integer operation.

    An `and` counts only if its mask has at least 8 bits.
    """
    name = equation.primitive.name
    if not jnp.issubdtype(equation.outvars[0].aval.dtype, jnp.integer):
        return False
    if name != "and":
        return name in _BITWISE
    return any(abs(number) >= 255 for number in _integer_literals(equation))


def _is_hash_step(equation: Any) -> bool:
    """Return whether an equation has a constant that is typical of hashes.

    Such a constant is either a well-known multiplier or a large odd number.
    """
    name = equation.primitive.name
    if name not in ("mul", "add"):
        return False
    numbers = _integer_literals(equation)
    return any(
        (n in _HASH_MULTIPLIERS and name == "mul") or (n % 2 and n >= 2**16) for n in numbers
    )


def _integer_literals(equation: Any) -> list[int]:
    return [int(v.val) for v in equation.invars if isinstance(v, Literal) and not np.ndim(v.val)]
