"""Operations with a derivative that can be NaN, and the `where` expressions that guard them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxbits._analysis import jaxpr_utils
from jaxbits._analysis.call_context import CallContext, unqualified_name
from jaxbits._analysis.code_location import CodeLocation
from jaxbits._analysis.probes import instrumented_jaxprs

# Primitives whose derivative is infinite or undefined somewhere. Their derivatives are in
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/lax.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/special.py
# https://github.com/jax-ml/jax/blob/jax-v0.10.2/jax/_src/lax/linalg.py
_RISKY_WORDS = (
    "sqrt rsqrt cbrt log log1p div pow atan2 acos asin acosh atanh tan erf_inv exp exp2 expm1 "
    "lgamma digamma eigh svd eig qr cholesky triangular_solve lu sinh cosh custom_linear_solve "
    "reduce_prod cumprod householder_product schur"
)
_RISKY = frozenset(_RISKY_WORDS.split())
_SELECTION_FUNCTIONS = {
    "", "where", "select", "select_n", "piecewise", "choose", "cond", "switch",
}  # fmt: skip
_SELECTION_PATHS: tuple[tuple[str, ...], ...] = ((), ("_where",), ("where",), ("select",))

UNRELATED, DEPENDENT, RISKY = range(3)
"""The kinds of values: independent of the inputs, dependent on them, or the result of a risky
operation on a dependent value."""


class GradientFlow:
    """The risky operations that lie between a program's inputs and some of its results.

    Attributes:
        is_risky: Whether the program applies a risky operation to a value that depends on an input,
            and a gradient of the results flows through this operation.
        guarded: The lines of the `where` expressions that select between the result of a risky
            operation and another value.
        compares_large: Whether the program compares a value with a literal whose absolute value is
            at least 10.
        used_inputs: The positions of the inputs that the results depend on.
    """

    def __init__(self, program: ClosedJaxpr, results: Sequence[int], inputs: Sequence[int]) -> None:
        self.is_risky = self.compares_large = False
        self.guarded: list[CodeLocation | None] = []
        self._needed: set[int] = set()
        is_result = [n in results for n in range(len(program.out_avals))]
        is_used = _mark_needed(program.jaxpr, is_result, self._needed)
        self._differentiated: set[int] = set()
        _mark_needed(program.jaxpr, is_result, self._differentiated, only_gradients=True)
        self.used_inputs = {n for n, used in enumerate(is_used) if used}
        marks = [DEPENDENT if n in inputs else UNRELATED for n in range(len(program.in_avals))]
        self._run(program.jaxpr, marks, CallContext())

    def _run(self, jaxpr: Jaxpr, inputs: Sequence[int], context: CallContext) -> list[int]:
        marks: dict[Any, int] = dict(zip(jaxpr.invars, inputs, strict=True))

        def read(atom: Any) -> int:
            return UNRELATED if isinstance(atom, Literal) else marks.get(atom, UNRELATED)

        for equation in jaxpr.eqns:
            if id(equation) in self._needed:
                outputs = self._run_equation(equation, list(map(read, equation.invars)), context)
                marks.update(zip(equation.outvars, outputs, strict=True))
        return list(map(read, jaxpr.outvars))

    def _run_equation(self, equation: Any, inputs: list[int], context: CallContext) -> list[int]:
        count, highest = len(equation.outvars), max(inputs, default=UNRELATED)
        jaxprs = instrumented_jaxprs(equation)
        if jaxprs is None:
            return [self._run_plain(equation, inputs, highest, context)] * count
        marks = [UNRELATED] * count
        is_loop = equation.primitive.name in ("scan", "while")
        for jaxpr in jaxprs:
            size = len(jaxpr.jaxpr.invars)
            # After some iterations, a loop's carry may depend on any of the loop's inputs.
            operands = [highest] * size if is_loop else inputs[-size:] if size else []
            outputs = self._run(jaxpr.jaxpr, operands, context.enter(equation, jaxpr))
            marks = [max(a, b) for a, b in zip(marks, outputs, strict=False)]
        return [max([highest, *marks])] * count if is_loop else marks

    def _run_plain(
        self, equation: Any, inputs: list[int], highest: int, context: CallContext
    ) -> int:
        name = equation.primitive.name
        if name in ("lt", "le", "gt", "ge"):
            numbers = [v.val for v in equation.invars if isinstance(v, Literal)]
            self.compares_large |= any(abs(float(n)) >= 10 for n in numbers if not np.ndim(n))
        if not any(is_floating(v.aval) for v in equation.outvars if hasattr(v.aval, "dtype")):
            return UNRELATED
        if id(equation) not in self._differentiated:
            return highest
        is_selection = name == "select_n" and context.library[:1] in _SELECTION_PATHS
        if is_selection and max(inputs[1:]) == RISKY:
            caller = unqualified_name(context.outer_call(equation))
            if caller in _SELECTION_FUNCTIONS:
                self.guarded.append(context.location(equation))
        if highest and _is_risky(equation, inputs):
            self.is_risky = True
            return RISKY
        return highest


def is_floating(aval: Any) -> bool:
    """Return whether an abstract value has a real floating-point dtype."""
    return bool(jnp.issubdtype(aval.dtype, jnp.floating))


def _is_risky(equation: Any, inputs: list[int]) -> bool:
    name = equation.primitive.name
    if name == "integer_pow":
        return bool(equation.params["y"] < 0)
    return bool(inputs[1]) if name == "div" else name in _RISKY


def inputs_of_result(program: ClosedJaxpr, result: int) -> set[int]:
    """Return the positions of the inputs that one of a program's results depends on."""
    live = _live_variables(program, result)
    return {n for n, variable in enumerate(program.jaxpr.invars) if variable in live}


def constants_of_result(program: ClosedJaxpr, result: int) -> list[Any]:
    """Return the constants that one of a program's results depends on."""
    live = _live_variables(program, result)
    constants = zip(program.jaxpr.constvars, program.consts, strict=True)
    return [value for variable, value in constants if variable in live]


def _live_variables(program: ClosedJaxpr, result: int) -> set[Any]:
    is_result = [n == result for n in range(len(program.out_avals))]
    return _find_live(program.jaxpr, is_result, set())


def _passes_gradient(equation: Any, variable: Any) -> bool:
    """Return whether a gradient may flow from a result of an equation to its inputs.

    Integers and booleans, such as the results of `argmax` and of comparisons, have no gradient.
    """
    dtype = getattr(variable.aval, "dtype", bool)
    return equation.primitive.name != "stop_gradient" and bool(jnp.issubdtype(dtype, jnp.inexact))


def _mark_needed(
    jaxpr: Jaxpr, is_result: Sequence[bool], needed: set[int], only_gradients: bool = False
) -> list[bool]:
    """Add to `needed` the equations that some results need, and return which inputs they use.

    This includes the equations inside calls, loops, and branches. If a loop or branch is needed,
    all of its equations are.

    Args:
        jaxpr: The jaxpr to examine.
        is_result: Whether each of its results is one of those results.
        needed: The `id` of each equation that they need.
        only_gradients: Whether to find only the equations through which a gradient may flow.
    """
    live = _find_live(jaxpr, is_result, needed, only_gradients)
    return [v in live for v in jaxpr.invars]


def _find_live(
    jaxpr: Jaxpr, is_result: Sequence[bool], needed: set[int], only_gradients: bool = False
) -> set[Any]:
    """Do the same as `_mark_needed`, but return the variables that the results depend on."""
    pairs = zip(jaxpr.outvars, is_result, strict=True)
    live = {v for v, wanted in pairs if wanted and not isinstance(v, Literal)}
    for equation in reversed(jaxpr.eqns):
        wanted = [v in live for v in equation.outvars]
        if only_gradients:
            passing = [_passes_gradient(equation, variable) for variable in equation.outvars]
            wanted = [a and b for a, b in zip(wanted, passing, strict=True)]
        if not any(wanted):
            continue
        needed.add(id(equation))
        called = jaxpr_utils.called_jaxpr(equation)
        if called is None:
            is_used = [True] * len(equation.invars)
            for part in jaxpr_utils.sub_jaxprs(equation):
                needed |= {id(e) for e in jaxpr_utils.all_equations(part)}
        else:
            is_used = _mark_needed(called.jaxpr, wanted, needed, only_gradients)
        operands = zip(equation.invars, is_used, strict=True)
        live |= {v for v, used in operands if used and not isinstance(v, Literal)}
    return live
